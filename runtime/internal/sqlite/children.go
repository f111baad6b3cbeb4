package sqlite

// childOf is the condition for events l of the log that a handler of the event ?10 has
// published, or that announce its dead letters. The parameter is the id as text. The
// planner uses the index busgen_log_parent only for these very expressions.
const childOf = ` AND substr(l.metadata, instr(l.metadata, ',"parent_id":"') + 14, 36) = ?10 AND instr(l.metadata, ',"parent_id":"') > 0`

// childOfAny is the condition in its place for all events.
const childOfAny = " AND ?10 IS NULL"
