package ledger_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each rule of these sections of docs/semantics.md is here, in the table of transitions, or elsewhere.
var sections = []string{"Handling", "Retries and dead letters", "Order", "Groups", "When the process dies", "Shutdown"}

// elsewhere are the rules of these sections that say nothing about what becomes of a delivery, by who keeps them.
var elsewhere = map[string][]string{
	"dispatch chooses the disposition, and calls handlers": {
		"Only these end an attempt:",
		"A panic in the program's code fails one event at most.",
		"The program's code may block, too.",
		"The bus computes a partition key before the attempt,",
		"At its deadline an attempt has failed.",
		"A handler that ignores its context is left behind",
		"A handler steers with its own words only.",
		"An error class that the program has not registered matches nothing.",
		"An event that expires becomes a dead letter,",
		"A slow handler is logged once per attempt,",
		"A handler's context belongs to its attempt.",
		"`max_attempts` counts executions,",
		"The wait before a retry is a pure function",
		"Settings can be tuned while the bus runs.",
		"Without a timeout (`timeout: off`, `WithoutTimeout`) an attempt may take as long as it likes.",
		"Of a batch only the events that fail are retried,",
		"A batch ends when all of its events have expired,",
		"A batch begins when it is full, or when its wait is over.",
		"What a batch handler publishes is stored if all events of the batch are handled,",
		"A tuned concurrency waits for a restart.",
		"A dead letter of priority critical is an alert:",
		"An event that fails for a long time is reported once as slow,",
		"A batch of critical events that fails as a whole is an alert:",
		"A handler that takes long can delay a suspect",
		"The bus starts no further handlers and waits for the running ones,",
	},
	"dispatch has the order": {
		"A pending retry occupies nothing:",
		"With a concurrency of 1, the default, one handler runs at a time, and first attempts happen in log order.",
		"With a concurrency of n (`concurrency` in the catalogue, `WithConcurrency`) events are ordered within a partition key only.",
		"Of event types with different concurrencies a subscription has the smallest,",
		"The events of a batch are in log order,",
		"A failing event does not hold up others.",
		"The catalogue gives a strict order with `strict_order`.",
		"Priorities reorder the pending events of one subscription:", "A critical or high event goes ahead of the whole backlog,",
		"Subscriptions are independent of each other.",
	},
	"dispatch calls the members of a group": {
		"A group's policy is the most permissive merge of its members' overrides,",
		"Each member's breaker records that member's outcomes:",
		"A member whose breaker is open is skipped.",
		"A group that loses a member loses no event.",
		"Members join a group before the bus starts,",
		"The catalogue declares a group by its members.",
		"A declared group is stored as one of `InGroup` is,",
		"Settings of a declared member that differ from those of its event count as options do.",
	},
	"the engine stores it": {
		"Nothing that was acknowledged is lost.",
		"A crash counts only for a handler that was called.",
		"Pending retries keep their due times.",
		"A dead-letter notice is stored in the transaction that makes the dead letter,",
		"What handlers have done is written if the lock becomes free before the shutdown has to end.",
		"If the process dies during a run of a group, the members that succeeded in this run are executed again,",
	},
	"the engine shows it to operators": {
		"Other processes can see slow handlers:",
		"Retrying many dead letters works in small transactions.",
		"The file has the schema of each event type.",
		"Failures of one kind form one group.",
		"A monitor can ask with thresholds:",
		"Who follows the log gets each event once, in its order:",
		"A misspelt name is an error.",
		"A replay from a place in the log on replays exactly what the subscription has handled since then:",
		"Every operator's action is recorded",
	},
	"the bus": {
		"An event looks the same in every attempt,",
		"Middleware stands around every handler,",
		"What a failed attempt has logged is kept with it:",
		"The bus refuses new work with `ErrShutdown`",
		"A started bus that the program drops without a shutdown",
		"A second `Shutdown` waits for the first and returns nil,",
		"Every call keeps to its context,",
		"`Subscribe` has no context.",
		"`Unsubscribe` does the same for one subscription or group.",
		"A handler cannot wait for itself.",
	},
	"tests of this package that are not in the table": {
		"At least once.", // TestTheRulesHoldInEveryLife: the number of the next attempt
		"With `WithStrictOrder` a failing event holds back the later events of its key",
		"Delayed events, and dead letters that are retried, redriven or edited, are exempt from a strict order.",
		"A dead letter that ended the process is not retried by accident.",
		"Importing adds only the dead letters that the file does not have.",
		"A crash is forgotten when the handler ends otherwise, a snooze included.",
		"A replayed event has `Event.Replayed`,",
	},
}

func TestEveryRuleOfThePageIsHereOrElsewhere(t *testing.T) {
	page, err := os.ReadFile("../../../docs/semantics.md")
	if err != nil {
		t.Fatal(err)
	}
	all, here := map[string]bool{}, map[string]bool{} // rules of the page, and those of the sections that are looked at
	space, title := regexp.MustCompile(`\s+`), regexp.MustCompile(`(?s)^\*\*(.*?)\*\*`)
	found := 0
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		looked := slices.Contains(sections, name)
		if looked {
			found++
		}
		for _, item := range strings.Split(text, "\n* ")[1:] {
			if match := title.FindStringSubmatch(item); match != nil {
				rule := space.ReplaceAllString(match[1], " ")
				all[rule], here[rule] = true, looked
			}
		}
	}
	if found != len(sections) {
		t.Errorf("the page has %d of the sections %q", found, sections)
	}
	where := map[string]string{}
	for _, one := range transitions {
		if !all[one.rule] {
			t.Errorf("%s: the page has no rule %q", one.name, one.rule)
		}
		where[one.rule] = "the table"
	}
	for _, who := range slices.Sorted(maps.Keys(elsewhere)) {
		for _, rule := range elsewhere[who] {
			switch {
			case where[rule] != "":
				t.Errorf("%q is in %s, and in the list of %q", rule, where[rule], who)
			case !here[rule]:
				t.Errorf("the list of %q has %q, which is no rule of these sections", who, rule)
			}
			where[rule] = who
		}
	}
	for rule, looked := range here {
		if looked && where[rule] == "" {
			t.Errorf("nothing says who keeps the rule %q", rule)
		}
	}
}
