//! The answer to one request, from its permit to its trace.

use crate::job::RequestJob;
use crate::trace::RequestTrace;
use crate::{native, text};

/// Responds, cleans up and saves the trace.
pub(crate) async fn answer(job: RequestJob) {
    let mut request_trace = RequestTrace::start(
        job.client.clock(),
        &format!("request ({})", job.dialect),
        &job.served.name,
    );
    let result = match &job.served.native {
        Some(native) => native::answer(&job, native.as_ref(), &mut request_trace).await,
        None => text::answer(&job, &mut request_trace).await,
    };
    let error = match result {
        Ok(()) => None,
        Err(reason) => Some(job.abort(reason).await),
    };
    let root = request_trace.finish(error);
    let status = root.error.as_ref().map(|error| error.code.as_str());
    tracing::info!(
        trace = job.id,
        agent = job.served.name,
        model = job.request.model,
        dialect = %job.dialect,
        ms = root.duration_ms,
        error = status,
        "request completed"
    );
    drop(job.permit);
    job.state.traces.save(job.id, root).await;
}
