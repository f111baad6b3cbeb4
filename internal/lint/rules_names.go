package lint

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag/rules"
)

var pastTense = Rule{
	Rule: rules.PastTense,
	Bad: `
events:
  order.place: {}`,
	Good: `
events:
  order.placed: {}
  mail.sent: {}
  user.email_changed: {}`,
	check: func(p *pass) {
		for _, e := range p.Events {
			last := e.Label()[strings.LastIndexByte(e.Label(), '.')+1:]
			if !slices.ContainsFunc(strings.Split(last, "_"), isPast) {
				p.report(e.Label(), e.Name.Pos, "name what has happened, as in order.placed", "%s of event %s does not read like a past event", last, e.Label())
			}
		}
	},
}

var genericName = Rule{
	Rule: rules.GenericName,
	Bad: `
events:
  system.error: {}
  app.error_occurred: {}`,
	Good: `
events:
  system.backup_failed: {}
  payment.error: {}
  chat.message: {}
  order.event_added: {}`,
	check: func(p *pass) {
		for _, e := range p.Events {
			if isVague(e.Label()) {
				p.report(e.Label(), e.Name.Pos, "name what has happened to what, as in system.backup_failed", "the name of event %s is too generic", e.Label())
			}
		}
	},
}

// vague lists words that do not say what an event is about, even together.
var vague = strings.Fields(`
	app common core data error errors event events exception failure general generic global info internal main misc other
	something sys system unknown warning`)

// isVague reports whether all words of a name are vague.
func isVague(name string) bool {
	name = strings.NewReplacer("_occurred", "", "_happened", "", "_raised", "").Replace(name)
	return !slices.ContainsFunc(strings.FieldsFunc(name, func(c rune) bool { return c == '.' || c == '_' }), func(word string) bool {
		return !slices.Contains(vague, word)
	})
}

// isPast reports whether a word can be a past participle.
func isPast(word string) bool {
	return strings.HasSuffix(word, "ed") || slices.Contains(irregular, word)
}

// irregular lists participles that do not end in "ed", and other words for the state of something.
var irregular = strings.Fields(`
	begun born bought bound bound broken brought built burnt cast caught chosen cut dealt done drawn driven fallen fed felt
	forgotten fought found frozen given gone got gotten grown heard held hidden hit hung hurt kept known laid learnt led left
	lent let lit lost made meant met offline online overdue overridden paid put quit read rebuilt redone reset resent rerun
	ridden risen rung run said seen sent set shaken shown shrunk shut sold sought spent split spoken spread spun stolen stood
	struck stuck sunk swept sworn taken taught thought thrown told torn undone understood unset upset withdrawn won worn
	woken written`)
