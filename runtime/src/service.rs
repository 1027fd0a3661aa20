//! Every operation of the product, once: what it is called, what it takes and gives, and what it does.
//!
//! MCP tools and commands are projections of [`OPERATIONS`]: they read words, call an operation and show what it gives, and decide nothing. A test
//! holds that every operation is at hand on each surface, or says why not.

mod bundles;
mod checked;
mod compile;
mod compiler_views;
mod docs;
mod exact;
mod following;
mod gateway;
mod learn;
mod offered;
mod operations;
mod pages;
mod people;
mod people_views;
mod query;
mod query_views;
mod recording;
mod recordings;
mod refusal;
mod run_views;
mod runs;
mod server_said;
mod server_views;
mod servers;
mod story;
mod story_views;
mod tool_calls;
mod traces;
mod window;
mod worker;
mod workflows;

pub use crate::offered::Offered;
pub use compiler_views::{
    AddTrace, AddedTraces, CompileTraces, CompiledView, DiffWorkflowVersions, Difference, ExplainTraces, Explanation, ListWorkflowVersions,
    RecompileWorkflow, VerifyWorkflow, VersionList,
};
pub use docs::{DocFound, DocList, DocSection, DocSummary, DocText, DocsFound, ListDocs, ReadDoc, SearchDocs, look_up};
pub use exact::Exact;
pub use gateway::GatewayTool;
pub use learn::Learned;
pub use operations::{Kind, OPERATIONS, Operation, Rest, Surface, Verb};
pub use people_views::{
    AvailableWork, CheckResolution, ClaimAndResolve, ClaimEscalation, Escalate, EscalateAndWait, EscalationView, GetAvailableWork,
};
pub use query_views::{
    CompareWorkflows, CountRuns, CountedFrom, Durations, Every, ExplainFailures, FailureCause, FailureCauses, GroupBy, OrderBy, RankSteps,
    RunCountView, RunCounts, StepCost, StepRanking, WorkflowComparison, WorkflowFiguresView,
};
pub use recordings::{Recording, Recordings};
pub use refusal::{Code, Place, Refusal, refusal_schema};
pub use run_views::{
    CancelRun, EventView, GetRun, InvokeWorkflow, ListRuns, PruneRuns, Pruned, ResumeRun, RunList, RunStatus, RunView, StepOf,
};
pub use runs::Begun;
pub use server_views::{
    AddMcpServer, CallMcpTool, ConnectMcpServer, DisconnectMcpServer, GetMcpServer, ImportMcpServers, Imported, ListMcpServers,
    ListMcpTools, McpServerList, McpServerStatus, McpServerSummary, McpServerView, McpToolList, McpToolResult, RefusedServer,
    RemoveMcpServer, Removed, TagMatch, UpdateMcpServer,
};
pub use story_views::{EscalationSummary, GetRunStory, QuestionStory, RoleView, RunStory, StepStanding, StepStory, SummarizeEscalations};
pub use traces::{DeleteTrace, Deleted, GetTrace, ListTraces, PruneTraces, PrunedTraces, TraceList, TraceSummary, TraceView};
pub use worker::Capacity;
pub use workflows::{
    DeployWorkflow, GetWorkflow, ListWorkflows, SetWorkflowState, State, VersionView, WorkflowList, WorkflowSummary, WorkflowView,
};

use crate::compiling::Compiler;
use crate::documentation::{Document, Documentation, LANGUAGE, RUNTIME};
use crate::drive::Driver;
use crate::observe::Observer;
use bundles::Bundles;
use std::sync::Arc;
use tokio::sync::{Notify, Semaphore};

/// How many compilations go on at once.
const COMPILATIONS: usize = 2;

/// The operations over one store.
pub struct Service {
    driver: Arc<Driver>,
    bundles: Bundles,
    gateway: gateway::Known,
    recordings: Recordings,
    compiler: Option<Arc<dyn Compiler>>,
    documentation: Documentation,
    /// Compilations take memory and a processor: few go on at once.
    compiling: Arc<Semaphore>,
    /// There may be a run to take up.
    due: Notify,
    /// A run came to rest, or a question was answered, in this process.
    changed: tokio::sync::watch::Sender<u64>,
}

/// What comes with a call of an operation beside its input.
#[derive(Clone)]
pub struct Caller {
    /// Sees the steps of a run that the caller waits for.
    pub observer: Arc<dyn Observer>,
    /// Where calls of registered servers' tools are written down, if they are.
    pub recording: Option<Arc<Recording>>,
}

impl Caller {
    /// A caller whose calls nobody writes down.
    pub fn new(observer: Arc<dyn Observer>) -> Caller {
        Caller { observer, recording: None }
    }
}

impl Service {
    /// The operations over the store of `driver`.
    pub fn new(driver: Arc<Driver>) -> Arc<Service> {
        Service::over(driver, None, Vec::new())
    }

    /// The same, with what makes workflows of recordings.
    pub fn with_compiler(driver: Arc<Driver>, compiler: Arc<dyn Compiler>) -> Arc<Service> {
        Service::over(driver, Some(compiler), Vec::new())
    }

    /// The same, with documents that come before those of the runtime and the language.
    pub fn with_documents(driver: Arc<Driver>, compiler: Arc<dyn Compiler>, documents: Vec<Document>) -> Arc<Service> {
        Service::over(driver, Some(compiler), documents)
    }

    fn over(driver: Arc<Driver>, compiler: Option<Arc<dyn Compiler>>, documents: Vec<Document>) -> Arc<Service> {
        let recordings = Recordings::new(driver.store().clone(), driver.adapter().clone());
        Arc::new(Service {
            driver,
            recordings,
            bundles: Bundles::default(),
            gateway: gateway::Known::default(),
            compiler,
            documentation: Documentation::new(documents.into_iter().chain([LANGUAGE, RUNTIME])),
            compiling: Arc::new(Semaphore::new(COMPILATIONS)),
            due: Notify::new(),
            changed: tokio::sync::watch::channel(0).0,
        })
    }

    /// What brings runs to their next rest.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// The documents that the program carries.
    pub fn documentation(&self) -> &Documentation {
        &self.documentation
    }

    /// The recordings that this process writes.
    pub fn recordings(&self) -> &Recordings {
        &self.recordings
    }

    /// Changes whenever a run came to rest or a question was answered in this process.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn has_changed(&self) {
        self.gateway.doubt();
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }
}
