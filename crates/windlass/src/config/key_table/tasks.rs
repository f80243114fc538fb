//! Keys of tasks: the store, the tests, the two models of a run, the worker, kept changes, the sandbox and
//! the limits.

use std::time::Duration;

use serde_json::Number;

use super::{HOUR, KeySpec, WEEK, settings};
use crate::config::value_type::*;

settings! {
    /// Settings of the task store.
    pub struct StoreKeys at "store." {
        /// URL of the task store: `sqlite:FILE` or `postgres://…`. Default: a file of this project in the state directory;
        /// `windlass store path` prints it.
        url: Option<String> as NonEmptyText;
        /// PostgreSQL's own address, for notifications, if `store.url` leads to a connection pooler such as PgBouncer. Without it,
        /// events of other processes are polled four times a second.
        listen_url: Option<String> as NonEmptyText, secret;
    }
}

settings! {
    /// Settings of the tests.
    pub struct TestsSettings at "tests." {
        /// The test command that verifies a change; with "none", tasks complete unverified.
        command: Option<TestCommand> as TestCommand, aliases(&["tests"]);
        /// The command that prepares a fresh checkout for the tests, with network access: `["npm", "ci"]`. It runs once
        /// for each content of the manifests and lock files; later checkouts share its result.
        setup: Option<Vec<String>> as CommandWords;
        /// Whether the tests may use the network.
        network: bool as Bool = "false";
        /// Timeout of one test run.
        timeout_secs: Duration as Seconds<WEEK> = "900", may_be_lowered;
    }
}

settings! {
    /// Settings of clones.
    pub struct WorkspaceSettings at "workspace." {
        /// Files of your checkout that git does not track and every clone gets, such as [".env.test"]. At most 100 files of
        /// 1 MiB, in the repository. They are never part of a change.
        copy: Option<Vec<String>> as TextList;
    }
}

settings! {
    /// Settings of the commits that tasks publish. Their author is the user of git's `user.name` and `user.email`.
    pub struct CommitKeys at "commit." {
        /// Message of a commit, without trailers. `{{title}}`, `{{explanation}}`, `{{task}}` and `{{agent}}` are
        /// replaced.
        template: String as NonEmptyText = "{{title}}\n\n{{explanation}}";
        /// Value of the trailer `Co-authored-by`; empty for none.
        co_author: String as AnyText = "{{agent}} <{{agent}}@agents.invalid>";
    }
}

settings! {
    /// Settings of `windlass run`.
    pub struct RunSettings at "run." {
        /// The agent that makes the plan. Default: the default agent, or else the model at `run.turbo_host`.
        planner: Option<String> as Name;
        /// The agent that executes the plan. Default: the default agent, or else the model at `run.local_host`.
        coder: Option<String> as Name;
        /// The Ollama server of the planner model.
        turbo_host: String as Url = "https://ollama.com", env_var("TURBO_HOST");
        /// The Ollama server of the coder model, which executes plans.
        local_host: String as Url = "http://127.0.0.1:11434", env_var("OLLAMA_LOCAL");
        /// The planner model, at `run.turbo_host`.
        planner_model: String as NonEmptyText = "gpt-oss:20b", env_var("PLANNER_MODEL");
        /// The coder model, at `run.local_host`.
        coder_model: String as NonEmptyText = "qwen2.5-coder", env_var("CODER_MODEL");
        /// The variable that holds the API key for `run.turbo_host`.
        api_key_env: String as SecretVariable = "OLLAMA_API_KEY";
        /// Whether a planner that is a model gets tools, with which it can only read. Without them a plan is one answer.
        planner_tools: bool as Bool = "false";
        /// Maximum number of model calls while executing one plan.
        max_steps: u32 as Count<1, 10_000> = "25", may_be_lowered, env_var("MAX_STEPS");
        /// Timeout of one request to either server.
        request_timeout_secs: Duration as Seconds<WEEK> = "120", may_be_lowered, env_var("REQUEST_TIMEOUT_S");
        /// Whether `windlass run` only plans, even with `--apply`.
        dry_run: bool as Bool = "false", env_var("DRY_RUN");
    }
}

settings! {
    /// Settings of a worker.
    pub struct WorkerSettings at "worker." {
        /// Maximum number of concurrent tasks of one worker.
        concurrency: u32 as Count<1, 1_000> = "10";
        /// Lease duration: how long a claimed task stays with a worker that sends no heartbeat.
        lease_secs: Duration as Seconds<HOUR> = "30";
        /// What this machine has, such as ["gpu"]: its workers also claim tasks that need it.
        labels: Option<Vec<String>> as TextList;
    }
}

settings! {
    /// Settings of landing: how proved changes get onto their target branch.
    pub struct LandSettings at "land." {
        /// Which changes land without being asked for: none, or every change that a worker has proved and that needs no
        /// review.
        auto: AutoLand as AutoLand = "off";
        /// How a change is brought onto its branch: with a merge commit unless it can be fast-forwarded, or as one commit
        /// on top.
        strategy: LandStrategy as LandStrategy = "merge";
        /// How many changes are merged and tested together at most. If the tests fail, Windlass finds the change that broke them.
        /// Must be 1 with the strategy "rebase".
        batch: u32 as Count<1, 100> = "1";
        /// How often a change that conflicts or fails the tests goes back to its agent before a person is asked.
        max_returns: u32 as Count<0, 100> = "2";
    }
}

settings! {
    /// Settings of reviews.
    pub struct ReviewSettings at "review." {
        /// The agent that reviews every change after its proof. It comments or requests changes, at most twice in a row,
        /// and never approves. Default: none.
        agent: Option<String> as Name;
    }
}

settings! {
    /// Settings of tasks that build on each other.
    pub struct TaskSettings at "tasks." {
        /// What happens when the changes of a task's dependencies conflict: "agent" adds a task in which an agent merges
        /// them, "ask" asks a person first.
        conflicts: &'static str as ConflictsWord = "agent";
    }
}

settings! {
    /// Settings of the changes that attempts leave.
    pub struct ChangeSettings at "changes." {
        /// How many days the change of an attempt is kept in the repository.
        keep_days: u32 as Count<1, 36_500> = "90";
        /// Maximum number of changes of attempts that are kept in one repository. Of more, the oldest are deleted.
        keep_count: u32 as Count<1, 100_000> = "1000";
    }
}

settings! {
    /// Settings of the sandbox.
    pub struct SandboxSettings at "sandbox." {
        /// The mechanism that isolates agents, tools and tests.
        mechanism: SandboxMechanism as SandboxMechanism = "auto";
        /// Files and directories that agents, tools and tests may read although the sandbox hides their parent directory,
        /// such as a toolchain in an unusual location: ["/tmp/toolchain", "~/sdk"].
        readable: Option<Vec<String>> as TextList;
    }
}

settings! {
    /// Limits of a turn.
    pub struct LimitSettings at "limits." {
        /// Timeout of a turn, for an agent without `timeout_secs`.
        turn_secs: Duration as Seconds<WEEK> = "600", may_be_lowered;
        /// How long an agent may emit no events within a turn. Default: no limit except the timeout of the turn.
        stall_secs: Option<Duration> as Seconds<WEEK>, may_be_lowered;
        /// Memory of an agent, a tool or a test run with all its processes, in GiB. Default: 8 for agents and tests, 4
        /// for tools, and at most three quarters of the machine's memory.
        memory_gb: Option<Number> as Amount<100_000>, may_be_lowered;
        /// Number of processes and threads of an agent, a tool or a test run. Default: 4096 for agents and tests, 1024
        /// for tools.
        processes: Option<u32> as Count<1, 4_000_000>, may_be_lowered;
        /// What an agent, a tool or a test run may write in total, in GiB. Default: 32 for agents and tests, 16 for
        /// tools.
        disk_gb: Option<Number> as Amount<100_000>, may_be_lowered;
        /// Size of one file that an agent, a tool or a test run writes, in GiB. Default: 8 for agents, 4 for tests, 2
        /// for tools.
        file_gb: Option<Number> as Amount<100_000>, may_be_lowered;
        /// CPU time of an agent, a tool or a test run with all its processes. Default: 8 hours for agents, 4 hours for
        /// tests, 1 hour for tools.
        cpu_secs: Option<Duration> as Seconds<WEEK>, may_be_lowered;
    }
}
