mod attempt;
mod bus;
mod endings;
mod lead;
mod leases;
mod plan;
mod real;
mod sim;
