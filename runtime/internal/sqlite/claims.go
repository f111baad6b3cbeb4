package sqlite

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
)

// claims is the file beside the log that says who dispatches and what the
// workers are busy with. A worker has two places of 32 bytes, and overwrites the
// older one when it starts an attempt: killed in the middle, it has left the
// other. That survives the death of the process, which is all it is for,
// and costs next to nothing where a transaction would cost twenty microseconds:
// the file is mapped into memory where the platform can, and never synced.
type claims struct {
	path string
	of   string // path of the database; empty for one that is not a file of the system
	// log is the database, whose lock says who dispatches; nil where it cannot be
	// locked.
	log *os.File

	// Changed by who holds mu and the locks of all places, so that one of them
	// is enough to read it: workers must not wait for each other.
	file   *os.File // nil unless this process dispatches
	mapped []byte   // the first places of file; nil where there is no mapping
	life   uint32   // of this process as the owner; the log knows the newest

	mu     sync.Mutex
	places []*place

	lamented bool // the log was told that the file cannot be made again; only keep uses it
}

// place is where a worker writes its claims.
type place struct {
	number int
	mu     sync.Mutex
	last   claim // as written
	_      [64]byte
}

// lock takes mu and the locks of all places, for who changes what workers read.
func (c *claims) lock() {
	c.mu.Lock()
	for _, p := range c.places {
		p.mu.Lock()
	}
}

func (c *claims) unlock() {
	for _, p := range c.places {
		p.mu.Unlock()
	}
	c.mu.Unlock()
}

// newClaims returns the claims of the database at path, which has been resolved.
func newClaims(path, vfsName string) (*claims, error) {
	c := &claims{path: path + claimsSuffix}
	if vfsName != "" || mounted(path) != "" {
		return c, nil
	}
	c.of = path
	if !ownerLocks {
		return c, nil
	}
	var err error
	if c.log, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return nil, storageError("open", path, err)
	}
	return c, nil
}

// read returns what the last owner left.
func (c *claims) read() ([]claim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	content, err := io.ReadAll(io.LimitReader(c.file, claimsLimit))
	if err != nil {
		return nil, err
	}
	var found []claim
	for ; len(content) >= claimSize; content = content[min(2*claimSize, len(content)):] {
		found = append(found, claimsOf(content)...)
	}
	return found, nil
}

// leftClaims returns what the claims file at path says, without its lock, and nothing
// if that cannot be read. It reads a plain file only.
func leftClaims(path string) []claim {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	found, err := (&claims{file: file}).read()
	if err != nil {
		return nil
	}
	return found
}

// clear forgets what the last owner left, which is in the log by now, and
// prepares the file for this one, whose life it is.
func (c *claims) clear(life uint32) error {
	c.lock()
	defer c.unlock()
	c.life = life
	if err := unmapFile(c.mapped); err != nil {
		return err
	}
	c.mapped = nil
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
func (c *claims) reserve() *place {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &place{number: len(c.places)}
	c.places = append(c.places, p)
	return p
}

// begin says that the worker at p is busy with seq, after so many executions. An
// error is not reported: the worst it does is that a crash counts for nobody.
func (c *claims) begin(p *place, subscription, seq int64, executions int) {
	c.claim(p, subscription, seq, seq, executions)
}

// prepare is begin for an event that no handler has been called for.
func (c *claims) prepare(p *place, subscription, seq int64, executions int) {
	c.claim(p, subscription, seq, 0, executions)
}

func (c *claims) claim(p *place, subscription, seq, begun int64, executions int) {
	p.mu.Lock()
	p.last = claim{
		subscription: subscription, running: seq, highest: max(begun, p.last.highest),
		life: c.life, executions: uint16(executions), turn: p.last.turn + 1,
	}
	ok := c.write(p)
	p.mu.Unlock()
	if !ok {
		c.giveUpMapping(p)
	}
}

// sync makes what the file says survive a power cut, as far as the disk allows.
func (c *claims) sync(p *place) {
	p.mu.Lock() // nobody closes the file meanwhile
	defer p.mu.Unlock()
	if c.file != nil {
		c.file.Sync()
	}
}

// busy tells whether the worker at p runs a handler.
func (p *place) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last.running != 0
}

// end says that the worker at p is no longer busy with seq.
func (c *claims) end(p *place, seq int64) {
	ok := true
	p.mu.Lock()
	if p.last.running == seq {
		p.last.running = 0
		p.last.turn++
		ok = c.write(p)
	}
	p.mu.Unlock()
	if !ok {
		c.giveUpMapping(p)
	}
}

// write puts the claim of p into the file. It reports false when the mapping
// cannot be written to. What cannot be written must not stay as it was: the
// attempt would count although it is over. Then the claims are given up that can
// be, and a crash counts for nobody. The caller holds the place's mu.
func (c *claims) write(p *place) bool {
	if c.file == nil {
		return true
	}
	at := (2*p.number + int(p.last.turn%2)) * claimSize
	if at+claimSize <= len(c.mapped) {
		return poke(c.mapped[at:at+claimSize], p.last)
	}
	encoded := make([]byte, claimSize)
	p.last.encode(encoded)
	if _, err := c.file.WriteAt(encoded, int64(at)); err != nil {
		c.file.Truncate(int64(len(c.mapped)))
	}
	return true
}

// giveUpMapping makes all workers write to the file from now on, the one at p
// what it could not write before.
func (c *claims) giveUpMapping(p *place) {
	c.lock()
	defer c.unlock()
	unmapFile(c.mapped)
	c.mapped = nil
	c.write(p)
}

// poke writes to mapped memory. It reports false when there is nothing behind
// it any more, because the file was cut or the disk has failed; by itself, that
// would end the process.
func poke(b []byte, one claim) (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil }()
	one.encode(b)
	return true
}

// keep makes the file again if somebody has moved or deleted it, with what it said.
func (c *claims) keep(logger *slog.Logger) {
	c.mu.Lock()
	file, of := c.file, c.of
	c.mu.Unlock()
	if file == nil || of == "" {
		return
	}
	info, err := file.Stat()
	if err != nil || isFile(c.path, info) {
		return
	}
	createBeside(of, claimsSuffix)
	again, err := openLocked(c.path)
	if err == nil {
		err = c.moveTo(again)
	}
	if err != nil && c.lamented {
		return
	}
	if err != nil {
		c.lamented = true
		logger.Error("the claims are gone and cannot be restored; a crash would not be recorded", "path", c.path, "error", err)
		return
	}
	c.lamented = false
	logger.Warn("the claims were moved or deleted while the bus runs; they are restored", "path", c.path)
}

// moveTo makes another file the one that has the claims.
func (c *claims) moveTo(file *os.File) error {
	c.lock()
	defer c.unlock()
	content := make([]byte, max(claimsBytes, 2*claimSize*len(c.places)))
	if _, err := c.file.ReadAt(content, 0); err != nil && err != io.EOF {
		return errors.Join(err, file.Close())
	}
	if _, err := file.WriteAt(content, 0); err != nil {
		return errors.Join(err, file.Close())
	}
	err := errors.Join(unmapFile(c.mapped), c.file.Close())
	c.file = file
	c.mapped, _ = mapFile(file, claimsBytes)
	return err
}

// forget erases what the last owner has left about a subscription.
func (c *claims) forget(subscription int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	content, err := io.ReadAll(c.file)
	if err != nil {
		return err
	}
	for at := 0; at+claimSize <= len(content); at += claimSize {
		one, ok := decodeClaim(content[at : at+claimSize])
		if !ok || one.subscription != subscription {
			continue
		}
		if _, err := c.file.WriteAt(make([]byte, claimSize), int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// deleted reports whether the database has no name left. It is false where the
// database is not open here.
func (c *claims) deleted() bool {
	if c.log == nil {
		return false
	}
	info, err := c.log.Stat()
	return err == nil && linksOf(info) == 0
}
