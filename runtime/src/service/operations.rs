//! The list of operations: the one place where an operation gets its name, its words and its surfaces.

use super::checked::{called, schema, violations, written};
use super::{
    Caller, Refusal, Service, compile, compiler_views, docs, people, people_views, query, query_views, run_views, runs, server_views,
    servers, story, story_views, tool_calls, traces, workflows,
};
use crate::service::refusal::Code;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ltc_workflow::Value;
use schemars::Schema;
use std::sync::Arc;

/// An operation.
pub struct Operation {
    /// Its name, on every surface.
    pub name: &'static str,
    /// What it does, for people and agents.
    pub about: &'static str,
    /// What it does to what is kept.
    pub kind: Kind,
    /// Where it stands among MCP tools: the name of the server.
    pub mcp: Surface,
    /// Where it stands on the command line.
    pub command: Surface,
    /// Where it stands among the routes of REST.
    pub rest: Rest,
    input: fn() -> Schema,
    output: fn() -> Schema,
    call: Function,
}

/// From a value to a value.
type Function = fn(Arc<Service>, Value, Caller) -> BoxFuture<'static, Result<Value, Refusal>>;

/// What an operation does to what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Reads,
    /// Something, and doing it again changes nothing more.
    Sets,
    /// Something, each time.
    Adds,
    /// It takes something away, or ends something.
    Ends,
    /// It goes on with a run, which does whatever its workflow says.
    Runs,
}

/// Whether an operation is at hand on a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// It is, there.
    At(&'static str),
    /// It is not, because of this.
    Exempt(&'static str),
}

/// Whether, and where, an operation is a route of REST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It is, with this method and path; `{field}` in the path is a field of the input.
    At(Verb, &'static str),
    /// It is not, because of this.
    Exempt(&'static str),
}

/// A method of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// What reads.
    Get,
    /// What adds, or sets something going.
    Post,
    /// What sets.
    Put,
    /// What takes away.
    Delete,
}

impl Operation {
    /// The operation of this name.
    pub fn named(name: &str) -> Option<&'static Operation> {
        OPERATIONS.iter().find(|operation| operation.name == name)
    }

    /// The JSON Schema of its input.
    pub fn input_schema(&self) -> serde_json::Value {
        (self.input)().to_value()
    }

    /// The JSON Schema of its output.
    pub fn output_schema(&self) -> serde_json::Value {
        (self.output)().to_value()
    }

    /// Does it.
    ///
    /// # Errors
    /// The reason why it was not done.
    pub async fn call(&self, service: &Arc<Service>, input: &Value, caller: Caller) -> Result<Value, Refusal> {
        let problems = violations(self, input);
        if !problems.is_empty() {
            return Err(Refusal::because(Code::Invalid, problems));
        }
        (self.call)(service.clone(), input.clone(), caller).await
    }
}

/// One line of the list: from JSON to the function and back.
macro_rules! operation {
    ($name:literal, $kind:expr, mcp: $mcp:expr, command: $command:expr, rest: $rest:expr, $input:ty => $output:ty, $function:path, $about:literal) => {
        Operation {
            name: $name,
            about: $about,
            kind: $kind,
            mcp: $mcp,
            command: $command,
            rest: $rest,
            input: schema::<$input>,
            output: written::<$output>,
            call: |service, input, caller| {
                async move { called::<$input, $output>(input, |input| $function(service, input, caller)).await }.boxed()
            },
        }
    };
}

use Surface::{At, Exempt};

const WORKFLOWS: Surface = At("mcp-workflows");
const PEOPLE: Surface = At("human-queue");
const SERVERS: Surface = At("gateway");

/// A server is a program that is started on this machine, or a place that secrets are sent to.
const BY_PEOPLE: Surface = Exempt("who registers a server says which programs are started here: that is for people, not for agents");
const COMPILER: Surface = At("workflow-compiler");
const QUERIES: Surface = At("db-query");
const DOCS: Surface = At("docs");

/// What is gone cannot be compiled any more.
const BY_KEEPERS: Surface = Exempt("taking recordings away is for the people who keep the store, not for agents");

/// All operations.
pub const OPERATIONS: &[Operation] = &[
    operation!("list_workflows", Kind::Reads, mcp: WORKFLOWS, command: At("workflows"),
        rest: Rest::At(Verb::Get, "/api/workflows"),
        workflows::ListWorkflows => workflows::WorkflowList, workflows::list,
        "List workflows that can be invoked, with what they do and what they take."),
    operation!("get_workflow", Kind::Reads, mcp: WORKFLOWS, command: At("workflows show"),
        rest: Rest::At(Verb::Get, "/api/workflows/{workflow_name}"),
        workflows::GetWorkflow => workflows::WorkflowView, workflows::get,
        "Show one workflow: its schemas, its steps, its document, where it comes from, and its versions."),
    operation!("invoke_workflow", Kind::Runs, mcp: WORKFLOWS, command: At("run"),
        rest: Rest::At(Verb::Post, "/api/workflows/{workflow_name}/invoke"),
        run_views::InvokeWorkflow => run_views::RunView, runs::invoke,
        "Run a workflow. Waits for its end, or with `async` returns the id of the run at once; `get_run` asks for it."),
    operation!("get_run", Kind::Reads, mcp: WORKFLOWS, command: At("runs show"),
        rest: Rest::At(Verb::Get, "/api/runs/{run_id}"),
        run_views::GetRun => run_views::RunView, runs::get,
        "Ask how a run stands: its output or failure when it has ended, what it waits for, and with `events` its journal."),
    operation!("list_runs", Kind::Reads, mcp: WORKFLOWS, command: At("runs"),
        rest: Rest::At(Verb::Get, "/api/runs"),
        run_views::ListRuns => run_views::RunList, runs::list,
        "List runs, the newest first."),
    operation!("cancel_run", Kind::Ends, mcp: WORKFLOWS, command: At("cancel"),
        rest: Rest::At(Verb::Post, "/api/runs/{run_id}/cancel"),
        run_views::CancelRun => run_views::RunView, runs::cancel,
        "Cancel a run: nothing more of it is begun, and calls that are under way are given up."),
    operation!("resume_run", Kind::Runs, mcp: WORKFLOWS, command: At("resume"),
        rest: Rest::At(Verb::Post, "/api/runs/{run_id}/resume"),
        run_views::ResumeRun => run_views::RunView, runs::resume,
        "Go on now with a run that waits, instead of when its time comes. What has ended is not done again."),
    operation!("prune_runs", Kind::Ends, mcp: Exempt("taking results away is for the people who keep the store, not for agents"), command: At("runs prune"),
        rest: Rest::At(Verb::Delete, "/api/runs"),
        run_views::PruneRuns => run_views::Pruned, runs::prune,
        "Take out runs that ended long ago, with their journals and questions."),
    operation!("deploy_workflow", Kind::Adds, mcp: COMPILER, command: At("deploy"),
        rest: Rest::At(Verb::Post, "/api/workflows"),
        workflows::DeployWorkflow => workflows::VersionView, workflows::deploy,
        "Keep a workflow as a new version and make it the active one."),
    operation!("set_workflow_state", Kind::Sets, mcp: COMPILER, command: At("workflows set"),
        rest: Rest::At(Verb::Put, "/api/workflows/{workflow_name}/state"),
        workflows::SetWorkflowState => workflows::VersionView, workflows::set_state,
        "Make a version of a workflow the active one (a draft, or an older one to roll back), or archive it."),
    operation!("escalate_to_human", Kind::Adds, mcp: PEOPLE, command: Exempt("who sits at a terminal needs no queue to ask a person"),
        rest: Rest::At(Verb::Post, "/api/escalations"),
        people_views::Escalate => people_views::EscalationView, people::escalate,
        "Ask a person. Returns the id of the question at once; `check_resolution` asks for the answer."),
    operation!("escalate_and_wait", Kind::Adds, mcp: PEOPLE, command: Exempt("who sits at a terminal needs no queue to ask a person"),
        rest: Rest::Exempt("a request that waits for a person is no request: ask, and look for the answer"),
        people_views::EscalateAndWait => people_views::EscalationView, people::escalate_and_wait,
        "Ask a person and wait for the answer. Without one in time, the question stays open and its id is returned."),
    operation!("check_resolution", Kind::Reads, mcp: PEOPLE, command: At("resolve --show"),
        rest: Rest::At(Verb::Get, "/api/escalations/{escalation_id}"),
        people_views::CheckResolution => people_views::EscalationView, people::check,
        "Ask whether a question has an answer."),
    operation!("get_available_work", Kind::Reads, mcp: PEOPLE, command: At("resolve"),
        rest: Rest::At(Verb::Get, "/api/escalations"),
        people_views::GetAvailableWork => people_views::AvailableWork, people::available,
        "List questions that nobody works on, the most urgent first, then the oldest."),
    operation!("claim_and_resolve", Kind::Adds, mcp: PEOPLE, command: At("resolve"),
        rest: Rest::At(Verb::Post, "/api/escalations/{escalation_id}/resolve"),
        people_views::ClaimAndResolve => people_views::EscalationView, people::claim_and_resolve,
        "Answer a question, in one step: it fails where somebody else has it or answered it before. A run that waits for the answer goes on."),
    operation!("claim_escalation", Kind::Sets, mcp: SERVERS, command: Exempt("who answers at a terminal answers in one step"),
        rest: Rest::At(Verb::Post, "/api/escalations/{escalation_id}/claim"),
        people_views::ClaimEscalation => people_views::EscalationView, people::claim,
        "Claim a question for a while, to work on it. What is done over this connection from then on is recorded as its solution."),
    operation!("list_mcp_servers", Kind::Reads, mcp: SERVERS, command: At("servers"),
        rest: Rest::At(Verb::Get, "/api/mcp/servers"),
        server_views::ListMcpServers => server_views::McpServerList, servers::list,
        "List registered MCP servers, by name, with how they were last found."),
    operation!("get_mcp_server", Kind::Reads, mcp: SERVERS, command: At("servers show"),
        rest: Rest::At(Verb::Get, "/api/mcp/servers/{server_name}"),
        server_views::GetMcpServer => server_views::McpServerView, servers::get,
        "Show one registered MCP server: how it is reached, its tags, its compile hints and its tools."),
    operation!("add_mcp_server", Kind::Adds, mcp: BY_PEOPLE, command: At("servers add"),
        rest: Rest::At(Verb::Post, "/api/mcp/servers"),
        server_views::AddMcpServer => server_views::McpServerView, servers::add,
        "Register an MCP server under a name. It is not connected to yet; `connect_mcp_server` does that."),
    operation!("update_mcp_server", Kind::Sets, mcp: BY_PEOPLE, command: At("servers update"),
        rest: Rest::At(Verb::Put, "/api/mcp/servers/{server_name}"),
        server_views::UpdateMcpServer => server_views::McpServerView, servers::update,
        "Change what is said of a registered MCP server. What is left out stays as it is."),
    operation!("remove_mcp_server", Kind::Ends, mcp: BY_PEOPLE, command: At("servers remove"),
        rest: Rest::At(Verb::Delete, "/api/mcp/servers/{server_name}"),
        server_views::RemoveMcpServer => server_views::Removed, servers::remove,
        "Take an MCP server out of the registry. Runs that need it wait until it is there again."),
    operation!("import_mcp_servers", Kind::Adds, mcp: BY_PEOPLE, command: At("servers import"),
        rest: Rest::At(Verb::Post, "/api/mcp/import"),
        server_views::ImportMcpServers => server_views::Imported, servers::import,
        "Register the MCP servers of a document like `.mcp.json`. Each is taken or refused for itself."),
    operation!("connect_mcp_server", Kind::Sets, mcp: SERVERS, command: At("servers test"),
        rest: Rest::At(Verb::Post, "/api/mcp/servers/{server_name}/connect"),
        server_views::ConnectMcpServer => server_views::McpServerView, servers::connect,
        "Connect to a registered MCP server, and keep which tools it has."),
    operation!("disconnect_mcp_server", Kind::Sets, mcp: SERVERS, command: Exempt("the connections of a command end with the command"),
        rest: Rest::At(Verb::Post, "/api/mcp/servers/{server_name}/disconnect"),
        server_views::DisconnectMcpServer => server_views::McpServerView, servers::disconnect,
        "Let go of the connection to a registered MCP server. Who calls it next connects again."),
    operation!("list_mcp_tools", Kind::Reads, mcp: SERVERS, command: At("servers tools"),
        rest: Rest::At(Verb::Get, "/api/mcp/servers/{server_name}/tools"),
        server_views::ListMcpTools => server_views::McpToolList, servers::tools,
        "List the tools of a registered MCP server with their schemas. It is connected to where they are not known yet, or with `refresh`."),
    operation!("call_mcp_tool", Kind::Runs, mcp: SERVERS, command: At("servers call"),
        rest: Rest::At(Verb::Post, "/api/mcp/servers/{server_name}/tools/{tool_name}/call"),
        server_views::CallMcpTool => server_views::McpToolResult, tool_calls::call,
        "Call a tool of a registered MCP server. What the tool says is returned, also where it says that it failed."),
    operation!("list_traces", Kind::Reads, mcp: COMPILER, command: At("traces"),
        rest: Rest::At(Verb::Get, "/api/traces"),
        traces::ListTraces => traces::TraceList, traces::list,
        "List recordings that are kept, the newest first."),
    operation!("get_trace", Kind::Reads, mcp: COMPILER, command: At("traces show"),
        rest: Rest::At(Verb::Get, "/api/traces/{trace_id}"),
        traces::GetTrace => traces::TraceView, traces::get,
        "Show a recording, with its calls as a document that can be compiled."),
    operation!("add_trace", Kind::Adds, mcp: COMPILER, command: At("traces add"),
        rest: Rest::At(Verb::Post, "/api/traces"),
        compiler_views::AddTrace => compiler_views::AddedTraces, compile::add_trace,
        "Keep a recording that was made elsewhere, in any known format. A file of several runs becomes several recordings."),
    operation!("delete_trace", Kind::Ends, mcp: BY_KEEPERS, command: At("traces delete"),
        rest: Rest::At(Verb::Delete, "/api/traces/{trace_id}"),
        traces::DeleteTrace => traces::Deleted, traces::delete,
        "Take out a recording."),
    operation!("prune_traces", Kind::Ends, mcp: BY_KEEPERS, command: At("traces prune"),
        rest: Rest::At(Verb::Delete, "/api/traces"),
        traces::PruneTraces => traces::PrunedTraces, traces::prune,
        "Take out recordings in which nothing has happened for long."),
    operation!("compile_traces", Kind::Adds, mcp: COMPILER, command: At("traces compile"),
        rest: Rest::At(Verb::Post, "/api/compile"),
        compiler_views::CompileTraces => compiler_views::CompiledView, compile::compile,
        "Compile recordings of one task into a workflow, verify it, and keep it as a draft. `set_workflow_state` deploys it."),
    operation!("recompile_workflow", Kind::Adds, mcp: COMPILER, command: At("workflows recompile"),
        rest: Rest::At(Verb::Post, "/api/workflows/{workflow_name}/recompile"),
        compiler_views::RecompileWorkflow => compiler_views::CompiledView, compile::recompile,
        "Compile a workflow anew, of the recordings that it was made of and of more, with its hints edited; the result is a draft."),
    operation!("explain_traces", Kind::Reads, mcp: COMPILER, command: At("traces explain"),
        rest: Rest::At(Verb::Get, "/api/explain"),
        compiler_views::ExplainTraces => compiler_views::Explanation, compile::explain,
        "Say where each argument of a workflow of these recordings would come from, what was dropped and why, and what is open."),
    operation!("verify_workflow", Kind::Reads, mcp: COMPILER, command: At("workflows verify"),
        rest: Rest::At(Verb::Get, "/api/workflows/{workflow_name}/verify"),
        compiler_views::VerifyWorkflow => crate::compiling::Verified, compile::verify,
        "Replay a workflow in the recorded world and in counterfactual ones: against the recordings that it was made of, or others."),
    operation!("list_workflow_versions", Kind::Reads, mcp: COMPILER, command: At("workflows versions"),
        rest: Rest::At(Verb::Get, "/api/workflows/{workflow_name}/versions"),
        compiler_views::ListWorkflowVersions => compiler_views::VersionList, compile::versions,
        "List the versions of a workflow, the newest first, drafts and archived ones too, with the recordings that each was made of."),
    operation!("diff_workflow_versions", Kind::Reads, mcp: COMPILER, command: At("workflows diff"),
        rest: Rest::At(Verb::Get, "/api/workflows/{workflow_name}/diff"),
        compiler_views::DiffWorkflowVersions => compiler_views::Difference, compile::diff,
        "Show what differs between two versions of a workflow, as a unified diff of their documents."),
    operation!("count_runs", Kind::Reads, mcp: QUERIES, command: At("query runs"),
        rest: Rest::At(Verb::Get, "/api/query/runs"),
        query_views::CountRuns => query_views::RunCounts, query::count_runs,
        "Count runs: by workflow, by how they stand, by day or hour, over a stretch of time."),
    operation!("compare_workflows", Kind::Reads, mcp: QUERIES, command: At("query workflows"),
        rest: Rest::At(Verb::Get, "/api/query/workflows"),
        query_views::CompareWorkflows => query_views::WorkflowComparison, query::compare_workflows,
        "Compare workflows: how many of their runs ended how, how many failed, how long they take, and which are never run."),
    operation!("explain_failures", Kind::Reads, mcp: QUERIES, command: At("query failures"),
        rest: Rest::At(Verb::Get, "/api/query/failures"),
        query_views::ExplainFailures => query_views::FailureCauses, query::explain_failures,
        "Say why runs failed: by workflow, code and step, the most frequent cause first, with messages and runs to look at."),
    operation!("rank_steps", Kind::Reads, mcp: QUERIES, command: At("query steps"),
        rest: Rest::At(Verb::Get, "/api/query/steps"),
        query_views::RankSteps => query_views::StepRanking, query::rank_steps,
        "Rank steps by the time that they took in the newest runs: calls, waiting for people, timers."),
    operation!("summarize_escalations", Kind::Reads, mcp: QUERIES, command: At("query escalations"),
        rest: Rest::At(Verb::Get, "/api/query/escalations"),
        story_views::SummarizeEscalations => story_views::EscalationSummary, query::summarize_escalations,
        "Sum up the questions to people by role: how many are open, the oldest of them, and how long answers took."),
    operation!("get_run_story", Kind::Reads, mcp: QUERIES, command: At("query run"),
        rest: Rest::At(Verb::Get, "/api/runs/{run_id}/story"),
        story_views::GetRunStory => story_views::RunStory, story::get_run_story,
        "Tell what happened in one run, without its values: each step with how it ended and how long it took, and what people were asked."),
    operation!("list_docs", Kind::Reads, mcp: DOCS, command: At("docs"),
        rest: Rest::At(Verb::Get, "/api/docs"),
        docs::ListDocs => docs::DocList, docs::list,
        "List the documents about this product, with their sections."),
    operation!("search_docs", Kind::Reads, mcp: DOCS, command: At("docs search"),
        rest: Rest::At(Verb::Get, "/api/docs/search"),
        docs::SearchDocs => docs::DocsFound, docs::search,
        "Search the documentation of this product: how something is done, what an option, a field, a step or a failure means."),
    operation!("read_doc", Kind::Reads, mcp: DOCS, command: At("docs read"),
        rest: Rest::At(Verb::Get, "/api/docs/{document}"),
        docs::ReadDoc => docs::DocText, docs::read,
        "Read a document about this product, or one of its sections, in Markdown."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_operation_has_a_name_of_its_own_words_schemas_and_a_surface() {
        let names: BTreeSet<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
        assert_eq!(names.len(), OPERATIONS.len());
        for operation in OPERATIONS {
            assert!(operation.about.ends_with('.'), "{}", operation.name);
            for surface in [operation.mcp, operation.command] {
                match surface {
                    At(place) => assert!(!place.is_empty()),
                    Exempt(why) => assert!(why.len() > 20, "{} is exempt without a reason", operation.name),
                }
            }
            match operation.rest {
                Rest::At(verb, path) => {
                    assert!(path.starts_with("/api/"), "{}", operation.name);
                    assert_eq!(verb == Verb::Get, operation.kind == Kind::Reads, "{}: GET is what reads", operation.name);
                }
                Rest::Exempt(why) => assert!(why.len() > 20, "{} is exempt without a reason", operation.name),
            }
            assert!(matches!(operation.mcp, At(_)) || matches!(operation.command, At(_)), "{} is nowhere", operation.name);
            for schema in [operation.input_schema(), operation.output_schema()] {
                assert_eq!(schema["type"], "object", "{}", operation.name);
                assert!(!schema.to_string().contains("$ref"), "{}", operation.name);
                jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{}: {error}", operation.name));
                for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
                    assert!(schema.get("description").is_some(), "{}: {field} says nothing about itself", operation.name);
                }
            }
        }
    }
}
