package sqlite

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"time"
)

// claims is the file beside the log that says who dispatches and what the
// workers are busy with. A worker overwrites its own 32 bytes when it starts
// an attempt. That survives the death of the process, which is all it is for,
// and costs next to nothing where a transaction would cost twenty microseconds:
// the file is mapped into memory where the platform can, and never synced.
type claims struct {
	path string

	mu     sync.Mutex
	file   *os.File // nil unless this process dispatches
	mapped []byte   // the first places of file; nil where there is no mapping
	last   []claim  // by place: as written
}

const (
	claimSize   = 32
	claimsBytes = 64 << 10 // what is mapped; workers beyond that write to the file
)

// claim is what the file says about one worker.
type claim struct {
	subscription int64
	running      int64 // seq of the event at hand; 0 for none
	highest      int64 // the highest seq ever begun
}

func (c claim) encode(b []byte) {
	binary.LittleEndian.PutUint64(b[0:], uint64(c.subscription))
	binary.LittleEndian.PutUint64(b[8:], uint64(c.running))
	binary.LittleEndian.PutUint64(b[16:], uint64(c.highest))
	binary.LittleEndian.PutUint32(b[24:], crc32.ChecksumIEEE(b[:24]))
}

// decodeClaim reports false for a place that was never used or torn by a
// power cut.
func decodeClaim(b []byte) (claim, bool) {
	if crc32.ChecksumIEEE(b[:24]) != binary.LittleEndian.Uint32(b[24:]) {
		return claim{}, false
	}
	c := claim{
		subscription: int64(binary.LittleEndian.Uint64(b[0:])),
		running:      int64(binary.LittleEndian.Uint64(b[8:])),
		highest:      int64(binary.LittleEndian.Uint64(b[16:])),
	}
	return c, c.subscription != 0
}

// errOwned says that another process holds the file's lock.
var errOwned = errors.New("the claims file is locked")

// lookTime is longer than anybody takes who only looks whether there is an owner
// ([owned]).
const lookTime = 2 * time.Millisecond

// own locks the file for this process, or returns errOwned. The operating
// system gives the lock back when the process ends, however it ends.
func (c *claims) own() error {
	file, err := openLocked(c.path)
	if errors.Is(err, errOwned) {
		time.Sleep(lookTime)
		file, err = openLocked(c.path)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.file = file
	return nil
}

// read returns what the last owner left.
func (c *claims) read() ([]claim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	content, err := io.ReadAll(c.file)
	if err != nil {
		return nil, err
	}
	var found []claim
	for ; len(content) >= claimSize; content = content[claimSize:] {
		if one, ok := decodeClaim(content); ok {
			found = append(found, one)
		}
	}
	return found, nil
}

// clear forgets what the last owner left, which is in the log by now, and
// prepares the file for this one.
func (c *claims) clear() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.file.Truncate(0); err != nil {
		return err
	}
	// Written, not only extended: a mapping of space that the disk does not
	// have would fail when it is used.
	if _, err := c.file.WriteAt(make([]byte, claimsBytes), 0); err == nil {
		c.mapped, _ = mapFile(c.file, claimsBytes)
	}
	return nil
}

// reserve returns a place for one more worker.
func (c *claims) reserve() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = append(c.last, claim{})
	return len(c.last) - 1
}

// begin says that the worker at place is busy with seq. An error is not
// reported: the worst it does is that a crash is charged to nobody.
func (c *claims) begin(place int, subscription, seq int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := &c.last[place]
	*last = claim{subscription: subscription, running: seq, highest: max(seq, last.highest)}
	c.write(place)
}

// idle says that the worker at place is busy with nothing.
func (c *claims) idle(place int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := &c.last[place]; last.running != 0 {
		last.running = 0
		c.write(place)
	}
}

func (c *claims) write(place int) {
	if c.file == nil {
		return
	}
	if at := place * claimSize; at+claimSize <= len(c.mapped) {
		c.last[place].encode(c.mapped[at : at+claimSize])
	} else {
		encoded := make([]byte, claimSize)
		c.last[place].encode(encoded)
		c.file.WriteAt(encoded, int64(at))
	}
}

// release gives the lock back. Nothing runs any more, so nothing is claimed.
func (c *claims) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	return errors.Join(c.file.Truncate(0), c.unlock())
}

// abandon gives the lock back, and leaves what the file says to the next
// owner: not everything of it is in the log.
func (c *claims) abandon() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	return c.unlock()
}

// unlock closes the file. The caller holds mu.
func (c *claims) unlock() error {
	err := errors.Join(unmapFile(c.mapped), c.file.Close())
	c.file, c.mapped = nil, nil
	return err
}
