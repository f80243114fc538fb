//! The answer to one request, from its permit to its trace.

use windlass_core::TraceNode;
use windlass_wire::Dialect;

use crate::job::RequestJob;
use crate::trace::RequestTrace;
use crate::{native, text};

/// Responds, cleans up and saves the trace.
pub(crate) async fn answer(job: RequestJob) {
    let (clock, parent) = (job.client.clock(), job.parent.clone());
    let endpoint = endpoint(job.dialect);
    let mut request_trace = RequestTrace::start(clock, &endpoint, &job.served.name, parent);
    let result = match &job.served.native {
        Some(native) => native::answer(&job, native.as_ref(), &mut request_trace).await,
        None => text::answer(&job, &mut request_trace).await,
    };
    let error = match result {
        Ok(()) => None,
        Err(reason) => Some(job.abort(reason).await),
    };
    let root = request_trace.finish(error);
    log_end(
        &job.id,
        &job.served.name,
        &job.request.model,
        job.dialect,
        &root,
    );
    drop(job.permit);
    job.state.traces.save(job.id, root).await;
}

/// Returns the name of a request in its trace.
pub(crate) fn endpoint(dialect: Dialect) -> String {
    format!("request ({dialect})")
}

/// Logs the end of a request.
pub(crate) fn log_end(id: &str, agent: &str, model: &str, dialect: Dialect, root: &TraceNode) {
    let error = root.error.as_ref().map(|error| error.code.as_str());
    tracing::info!(
        trace = id,
        agent,
        model,
        %dialect,
        ms = root.duration_ms,
        error,
        "request completed"
    );
}
