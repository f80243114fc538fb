mod exact;
mod record;
mod replay;
