package sqlite

import "github.com/busgen/busgen/runtime/internal/typenames"

// typeMatcher tells which types a pattern covers. It is for one goroutine at a time.
type typeMatcher struct {
	ground  *ground
	pattern string         // globs with spaces between them, which were parsed before
	matches map[int64]bool // by type number
	known   int64          // the changes of the type table that matches knows
}

// match tells whether the pattern covers a type.
func (m *typeMatcher) match(typeID int64) bool {
	if changes := m.ground.types.changes.Load(); changes != m.known || m.matches == nil {
		m.known = changes
		m.matches = map[int64]bool{}
	}
	matches, known := m.matches[typeID]
	if known {
		return matches
	}
	info, known := m.ground.types.info(typeID)
	if !known { // declared by the transaction that appended its first event
		if m.ground.read(m.ground.types.load) != nil {
			return true // the attempt will say what it is
		}
		info, _ = m.ground.types.info(typeID)
	}
	matches, _ = typenames.MatchesAny(m.pattern, info.names)
	m.matches[typeID] = matches
	return matches
}
