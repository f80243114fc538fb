//! Migrates a store on request, and says before whom that would stop.

use windlass_tasks::StoreResult;

use crate::StoreSettings;
use crate::schema::{self, MigrationMode, MigrationPlan};

/// Returns what it takes to bring a store to the newest version that this program knows, without changing it.
///
/// # Errors
///
/// Fails if the store cannot be used.
pub async fn migration_plan(url: &str, settings: &StoreSettings) -> StoreResult<MigrationPlan> {
    let pools = crate::open_pools(url, settings).await?;
    let plan = schema::read_plan(&pools).await;
    pools.close().await;
    plan
}

/// Brings a store to the newest version that this program knows, if the mode allows it. Other programs may use the store
/// meanwhile.
///
/// # Errors
///
/// Fails if the store cannot be used. Then it is as it was.
pub async fn migrate(
    url: &str,
    settings: &StoreSettings,
    mode: MigrationMode,
) -> StoreResult<MigrationPlan> {
    let pools = crate::open_pools(url, settings).await?;
    let plan = schema::migrate_with(&pools, mode).await;
    pools.close().await;
    plan
}
