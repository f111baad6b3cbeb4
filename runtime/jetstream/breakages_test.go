package jetstream_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/internal/conformance"
)

var breakCode = flag.Bool("break", false, "break what the engine rests on, and see that a test fails")

// breakage takes away something on which the promises rest. Its tests have to fail then.
type breakage struct {
	name    string
	tests   []string
	changes []change
}

// change is a text of a file of internal/buslog, which occurs once, and what stands there
// instead.
type change struct{ file, old, new string }

const overtakenTest = "TestNothingComesAgainWhoseSuccessWasStoredDuringTheTakeover"

const staleTest = "TestBesideAStaleReplicaEverythingIsHandledWithinFifteenSeconds"

const (
	progressTest = "TestWhateverHappensToAProcessEveryPartMakesProgress"
	idleTest     = "TestWhatAnIdleProcessHandlesIsNoSuspect"
)

const stalledTest = "TestTheStatusSaysWhichPartsStandStillSinceWhenAndWhoHasThem"

const leaderTest = "TestStartWaitsForALeaderWhateverItAsksFirst"

const poisonTest = "TestAPoisonEventTakesTwoLivesMoreThanItsAttemptsAtMost"

const (
	noisyTest     = "TestConformance/TestACustomerWithManyEventsDoesNotKeepOthersWaiting"
	keyPausedTest = "TestConformance/TestAKeyIsPaused"
	parkedTest    = "TestConformance/TestParkedDeliveriesAreHandledOnceInTheOrderOfTheirKeys"
)

var breakages = []breakage{
	{"no Expected-Last header on the cursor", []string{"TestWhatAnOwnerSaysAfterItsTakeoverIsNotStored", overtakenTest + "/whole", overtakenTest + "/parts"}, []change{
		{"plan.go", "Data: data, Only: true, Expect: stream.Expecting(rev)}", "Data: data, Only: true}"},
	}},
	{"a full stream is not noted", []string{"TestTheHealthAndTheCountsSayThatAStreamIsFull"}, []change{
		{"conn.go", "	c.writing.Note(err, bytes)\n", "	_ = bytes\n"},
	}},
	{"rows outside of the batch", []string{"TestWhereverAnOwnerIsCutOffAnEventHasOneChild"}, []change{
		{"commit.go", "		first, err := h.append(context.Background(), p.msgs...)\n", `
		at := len(p.msgs) - 1
		for _, m := range p.msgs[:at] {
			h.stream.Append(context.Background(), m)
		}
		first, _, err := h.stream.Append(context.Background(), p.msgs[at])
		first -= int64(at)
`},
	}},
	{"acknowledgements that nobody compares", []string{"TestALogThatIsReplacedIsNoticed/an_older_copy"}, []change{
		{"replaced.go", "	if first > before {\n", "	if true {\n"},
	}},
	{"an alarm that goes on while nobody answers", []string{"TestADeposedLeaderThatGoesOnAnsweringStopsNoBus/that_it_has_no_such_stream,_now_and_then"}, []change{
		{"replaced.go", "			missing = time.Time{}\n", ""},
	}},
	{"a suspect that runs alone counts for nobody while a cursor says busy", []string{poisonTest}, []change{
		{"recover.go", "sure = sure && (calls.Alone || !p.Busy)", "sure = sure && !p.Busy"},
	}},
	{"nobody looks for cursors that are deleted", []string{"TestRecordsThatSomebodyDeletesAreStoredAgain"}, []change{
		{"deleted.go", "f.eachDeleted(f.subject(cursorToken, \">\"), revs,", "f.eachDeleted(f.subject(cursorToken, \">\"), map[string]int64{},"},
	}},
	{"half of a batch counts", []string{"TestHalfOfABatchWasNeverPublished"}, []change{
		{"half.go", "	return batch != \"\" &&", "	return false && batch != \"\" &&"},
	}},
	{"a row of half a batch stays as it is", []string{"TestADeliveryWaitsAgainOfWhichHalfABatchHasTheOnlyRow"}, []change{
		{"half.go", "	r.Row = r.Unended()\n", ""},
	}},
	{"a part whose owner does not answer does not stand still", []string{stalledTest + "/concurrency_1", stalledTest + "/concurrency_4"}, []change{
		{"stalled.go", "owned && now == alive {", "owned && now != idle {"},
	}},
	{"a part stands still while others may take it over", []string{stalledTest + "/concurrency_1"}, []change{
		{"stalled.go", "const stillTime = 15 * time.Second", "const stillTime = 5 * time.Second"},
	}},
	{"the only process does not look at itself", []string{"TestTheHealthSaysThatASubscriptionOfTheOnlyProcessStandsStill"}, []change{
		{"stalled.go", "		if u.isStuck() {\n			l.startLooks()\n		}\n", ""},
	}},
	{"an idle process looks at itself only while others ask", []string{"TestTheHealthSaysThatASubscriptionOfTheOnlyProcessStandsStill"}, []change{
		{"itself.go", " || me.idle > 0 {", " {"}, {"itself.go", "	if me.looks.Store(false);", "	me.idle = 0\n	me.mute.Store(false)\n	if me.looks.Store(false);"},
	}},
	{"the registry stays deleted", []string{"TestRecordsThatSomebodyDeletesAreStoredAgain/the_registry", "TestRecordsThatSomebodyDeletesAreStoredAgain/everything"}, []change{
		{"deleted.go", "		record, at = rd.registry, rd.registryRev\n", "		record, at = rd.registry, 0\n"},
	}},
	{"nobody looks for rows that are deleted", []string{"TestOldRowsThatSomebodyDeletesAreMadeAgainFromTheirEvents"}, []change{
		{"deleted.go", "	f.lookAtRows()\n", ""},
	}},
	{"a process stays with a stale replica", []string{staleTest}, []change{
		{"stale.go", "		f.stream.Move()\n", ""},
	}},
	{"a process beside a stale replica says that it is alive", []string{staleTest}, []change{
		{"stale.go", "	f.blind.Store(hides && come < newest)\n", ""},
	}},
	{"a process that stores nothing says that it is alive", []string{progressTest, idleTest}, []change{
		{"itself.go", "	if mute := me.idle >= idleLooks; ", "	if mute := me.idle < 0; "},
	}},
	{"a process keeps what its dispatcher does not poll", []string{progressTest}, []change{
		{"itself.go", "return u.still.looks >= idleLooks", "return u.still.looks < 0"},
	}},
	{"what an idle process handles is a suspect", []string{idleTest}, []change{
		{"recover.go", "!(cl.dead[c.Owner] && cl.idle[c.Owner])", "true"},
	}},
	{"a bus stays on a server that knows of no leader", []string{"TestABusLeavesAServerThatIsCutOffFromTheOthers"}, []change{
		{"stale.go", "	c.stream.Move()\n", ""},
	}},
	{"who joins does not wait for a leader", []string{leaderTest + "/bus.o"}, []change{
		{"editor.go", "		if err != nil && !errors.Is(err, stream.ErrInDoubt) && ed.waits(ctx, began, err) {\n", "		if err != nil && began.IsZero() {\n"},
		{"members.go", "return cl.patiently(ctx, func() error { return cl.edit(ctx, cl.memberMsg) })", "return cl.edit(ctx, cl.memberMsg)"},
	}},
	{"who takes over does not wait for a leader", []string{leaderTest + "/$JS.API.STREAM.MSG.GET.bus"}, []change{
		{"fence.go", "		c, err := cl.claimsOf(u, from, room)\n		if err != nil && cl.waits(ctx, began, err) {\n", "		c, err := cl.claimsOf(u, from, room)\n		if false {\n"},
	}},
	{"an event whose version is left out", []string{"TestATeamWithoutABusReadsEveryEventOfItsTypesWhenTheBusHasForgottenThem"}, []change{
		{"events.go", "Value: strconv.Itoa(max(r.Version, 1))}", "Value: strings.TrimPrefix(strconv.Itoa(max(r.Version, 1)), \"1\")}"},
	}},
	{"two processes take in the same messages", []string{"TestWhatATeamSendsWhileNoBusRunsWaitsAndIsTakenInInItsOrder"}, []change{
		{"inbox.go", "Data: note, Only: true, Expect: stream.Expecting(rev)}", "Data: note, Only: true}"},
	}},
	{"what is taken in is noted apart from it", []string{"TestWhereverABusIsCutOffWhatWasSentIsTakenInOnce"}, []change{
		{"inbox.go", "	first, err := p.append(ctx, msgs...)\n", `
	last := len(msgs) - 1
	if _, err := p.append(ctx, msgs[:last]...); err != nil {
		return err
	}
	first, err := p.append(ctx, msgs[last])
	first -= int64(last)
`},
	}},
	{"a claim counted before its handler was called", []string{"TestWheneverAProcessIsKilledItCountsForNoSuspectThatWasNotCalled"}, []change{
		{"claims.go", "	f.asked = f.delivery.Suspect\n", ""},
	}},
	{"the end of a delivery frees nothing of its waitlists", []string{noisyTest, parkedTest}, []change{
		{"dispositions.go", "	u.freeAll(v.Frees, f)\n", ""},
	}},
	{"what comes overtakes what is parked", []string{parkedTest}, []change{
		{"parking.go", "u.waitsBefore(l.parked, seq) || u.waitsBefore(l.others, seq)", "u.waitsBefore(l.others, seq)"},
	}},
	{"what comes overtakes what was freed", []string{parkedTest}, []change{
		{"parking.go", "u.waitsBefore(l.parked, seq) || u.waitsBefore(l.others, seq)", "u.waitsBefore(l.parked, seq)"},
	}},
	{"a pause of a key that ends frees nothing", []string{keyPausedTest}, []change{
		{"parking.go", "		u.freeNext(waitlist, n, nil)\n", "		_ = n\n"},
	}},
	{"what is parked holds up nothing until its row is stored", []string{parkedTest}, []change{
		{"parking.go", "f == nil && rd.sub.rows[one] != nil || f != nil && f.ended", "f == nil && rd.sub.rows[one] != nil"},
	}},
	{"no claims", []string{"TestACrashIsReportedWhenAnotherProcessGoesOnInTheBackground"}, []change{
		{"dispositions.go", "		if f.plan != p {\n", "		if false {\n"},
	}},
	// Who takes over knows the last cursor from the leader, and does not wait until it has read
	// what came before its own.
	{"no fence", []string{overtakenTest + "/whole-retries", overtakenTest + "/parts-retries"}, []change{
		{"recover.go", "		c.revs[at], c.numbers[at] = p.rev, p.N\n", "		cl.leaders(u, at)\n		c.revs[at], c.numbers[at] = p.rev, p.N\n"},
		{"fence.go", "err := cl.learn(ctx, seq+int64(len(c.msgs))-1); err", "err := cl.unfenced(ctx, u, c, seq); err"},
		{"commit.go", "\t\"context\"\n", "\t\"context\"\n\t\"encoding/json\"\n"},
		{"commit.go", "// pause waits before the next try.\n", `
func (cl *cluster) leaders(u *unit, at int) {
	p := &u.sub.parts[at]
	if m, err := cl.stream.LastOf(context.Background(), cl.cursorSubject(u.sub.ID, at)); err == nil && m.Seq > p.rev {
		*p = part{rev: m.Seq}
		json.Unmarshal(m.Data, &p.cursor)
	}
}

func (cl *cluster) unfenced(ctx context.Context, u *unit, c *claimed, seq int64) error {
	if len(c.cursors) > partCount { // it is divided anew
		return cl.learn(ctx, seq+int64(len(c.msgs))-1)
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for at, one := range c.cursors {
		for i, m := range c.msgs {
			if m.Subject == cl.cursorSubject(u.sub.ID, at) {
				u.sub.parts[at] = part{*one, seq + int64(i)}
			}
		}
	}
	return nil
}

// pause waits before the next try.
`},
	}},
}

func TestWithoutWhatTheEngineRestsOnItsTestsFail(t *testing.T) {
	for _, b := range breakages {
		t.Run(b.name, func(t *testing.T) {
			folder, replaced := t.TempDir(), map[string]string{}
			for _, c := range b.changes {
				path, err := filepath.Abs(filepath.Join("internal", "buslog", c.file))
				conformance.Must(t, err)
				from := path
				if replaced[path] != "" {
					from = replaced[path]
				}
				source, err := os.ReadFile(from)
				conformance.Must(t, err)
				if n := strings.Count(string(source), c.old); n != 1 {
					t.Fatalf("%s has %d times %q, want 1", c.file, n, c.old)
				}
				replaced[path] = filepath.Join(folder, c.file)
				conformance.Must(t, os.WriteFile(replaced[path], []byte(strings.Replace(string(source), c.old, c.new, 1)), 0o600))
			}
			if !*breakCode {
				return
			}
			overlay := filepath.Join(folder, "overlay.json")
			content, err := json.Marshal(map[string]any{"Replace": replaced})
			conformance.Must(t, err)
			conformance.Must(t, os.WriteFile(overlay, content, 0o600))
			var names []string
			for _, test := range b.tests {
				name, part, _ := strings.Cut(test, "/")
				if name = "^" + name + "$"; name == "^TestConformance$" {
					name += "/^" + part + "$"
				}
				names = append(names, name)
			}
			output, _ := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-timeout", "5m", "-run", strings.Join(names, "|"), ".").CombinedOutput()
			for _, test := range b.tests {
				if !strings.Contains(string(output), "--- FAIL: "+test+" ") {
					t.Errorf("%s does not fail:\n%s", test, output)
				}
			}
		})
	}
}
