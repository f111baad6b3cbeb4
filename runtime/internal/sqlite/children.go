package sqlite

// childOf is the condition for events l of the log that a handler of another event
// published. The parameter ?12 is the id of that event as text. The planner uses the
// index log_parent only for these very expressions.
const childOf = `substr(l.metadata, instr(l.metadata, '"parent_id":"') + 13, 36) = ?12 AND instr(l.metadata, '"parent_id":"') > 0`
