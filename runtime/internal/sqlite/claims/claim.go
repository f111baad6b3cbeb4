package claims

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

const (
	claimSize   = 32
	claimsBytes = 64 << 10 // what is mapped at first
	mappedLimit = 1 << 20  // and at most; workers beyond that write to the file
	claimsLimit = 16 << 20 // what is read; nobody has that many workers
)

// Claim is what the file says about one worker.
type Claim struct {
	Subscription int64
	Running      int64 // seq of the event at hand; 0 for none
	Waits        bool  // its handler waits for other handlers; in the file Running is negative
	Highest      int64 // the highest seq ever begun
	Batch        bool  // the event is one of a batch; in the file Highest is negative
	Express      bool  // Highest is that of the events that go ahead of the log; in the file Subscription has its highest bit
	Life         uint32
	Executions   uint16 // of the delivery at hand, before this one, the last 16 bits: this one is on record when the log knows of more
	turn         uint16 // counts what the worker has written
}

const expressBit = 1 << 31

// castagnoli is the polynomial that processors have an instruction for: there are two checksums for each delivery.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c Claim) encode(b []byte) {
	subscription := uint32(c.Subscription)
	if c.Express {
		subscription |= expressBit
	}
	binary.LittleEndian.PutUint32(b[0:], subscription)
	binary.LittleEndian.PutUint16(b[4:], c.turn)
	binary.LittleEndian.PutUint16(b[6:], c.Executions)
	running := c.Running
	if c.Waits {
		running = -running
	}
	binary.LittleEndian.PutUint64(b[8:], uint64(running))
	highest := c.Highest
	if c.Batch {
		highest = -highest
	}
	binary.LittleEndian.PutUint64(b[16:], uint64(highest))
	binary.LittleEndian.PutUint32(b[24:], c.Life)
	binary.LittleEndian.PutUint32(b[28:], crc32.Checksum(b[:28], castagnoli))
}

// decodeClaim reports false for a place that was never used or torn by a
// power cut.
func decodeClaim(b []byte) (Claim, bool) {
	if crc32.Checksum(b[:28], castagnoli) != binary.LittleEndian.Uint32(b[28:]) {
		return Claim{}, false
	}
	c := Claim{
		Subscription: int64(binary.LittleEndian.Uint32(b[0:])),
		turn:         binary.LittleEndian.Uint16(b[4:]),
		Executions:   binary.LittleEndian.Uint16(b[6:]),
		Running:      int64(binary.LittleEndian.Uint64(b[8:])),
		Highest:      int64(binary.LittleEndian.Uint64(b[16:])),
		Life:         binary.LittleEndian.Uint32(b[24:]),
	}
	if c.Subscription != ofProcess && c.Subscription&expressBit != 0 {
		c.Subscription, c.Express = c.Subscription&^expressBit, true
	}
	if c.Running < 0 {
		c.Running, c.Waits = -c.Running, true
	}
	if c.Highest < 0 {
		c.Highest, c.Batch = -c.Highest, true
	}
	return c, c.Subscription != 0
}

// claimsOf returns what the two places of a worker say.
func claimsOf(content []byte) []Claim {
	one, ok := decodeClaim(content)
	if len(content) < 2*claimSize {
		content = append(content[:claimSize:claimSize], make([]byte, claimSize)...)
	}
	first, second := content[:claimSize], content[claimSize:2*claimSize]
	other, otherOK := decodeClaim(second)
	switch {
	case ok && otherOK && one.Subscription == other.Subscription && one.Life == other.Life:
		if int16(other.turn-one.turn) > 0 {
			one, other = other, one
		}
		one.Highest = max(one.Highest, other.Highest)
		return []Claim{one}
	case ok && otherOK:
		return []Claim{one, other}
	case ok:
		return []Claim{beforeTorn(one, second)}
	case otherOK:
		return []Claim{beforeTorn(other, first)}
	}
	return nil
}

// beforeTorn returns what a claim says beside a torn one: its worker was about
// to go on, so it was through with what the claim says.
func beforeTorn(one Claim, beside []byte) Claim {
	if slices.ContainsFunc(beside, func(b byte) bool { return b != 0 }) {
		one.Running, one.Waits = 0, false
	}
	return one
}
