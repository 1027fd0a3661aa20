//! How operators are written and how tightly they bind, for the parser and the printer alike.

use super::BinaryOp;

/// What binds as loosely as anything.
pub(super) const LOOSEST: u8 = 1;
/// How tightly `not` binds its operand.
pub(super) const NOT: u8 = 3;
/// Comparisons, which do not chain.
pub(super) const COMPARISON: u8 = 4;
/// What the right side of `==` in brackets is.
pub(super) const COALESCE: u8 = 5;
/// What `.key` and brackets stand behind.
pub(super) const POSTFIX: u8 = 8;

impl BinaryOp {
    /// All of them, from the loosest binding to the tightest.
    pub const ALL: &[BinaryOp] = &[
        BinaryOp::Or,
        BinaryOp::And,
        BinaryOp::Equal,
        BinaryOp::NotEqual,
        BinaryOp::Less,
        BinaryOp::LessOrEqual,
        BinaryOp::Greater,
        BinaryOp::GreaterOrEqual,
        BinaryOp::Coalesce,
        BinaryOp::Add,
        BinaryOp::Subtract,
        BinaryOp::Multiply,
    ];

    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Or => "or",
            BinaryOp::And => "and",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessOrEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterOrEqual => ">=",
            BinaryOp::Coalesce => "??",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
        }
    }

    pub(super) fn binding(self) -> u8 {
        match self {
            BinaryOp::Or => LOOSEST,
            BinaryOp::And => 2,
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual => COMPARISON,
            BinaryOp::Coalesce => COALESCE,
            BinaryOp::Add | BinaryOp::Subtract => 6,
            BinaryOp::Multiply => 7,
        }
    }

    /// How tightly its left operand must bind: comparisons do not chain, everything else groups from the left.
    pub(super) fn left_binding(self) -> u8 {
        if self.binding() == COMPARISON { COMPARISON + 1 } else { self.binding() }
    }
}
