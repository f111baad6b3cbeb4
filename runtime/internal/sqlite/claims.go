package sqlite

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"
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

const (
	claimSize   = 32
	claimsBytes = 64 << 10 // what is mapped; workers beyond that write to the file
	claimsLimit = 16 << 20 // what is read; nobody has that many workers
)

// claim is what the file says about one worker.
type claim struct {
	subscription int64
	running      int64 // seq of the event at hand; 0 for none
	highest      int64 // the highest seq ever begun
	life         uint32
	executions   uint16 // of the delivery at hand, before this one, the last 16 bits: this one is on record when the log knows of more
	turn         uint16 // counts what the worker has written
}

func (c claim) encode(b []byte) {
	binary.LittleEndian.PutUint32(b[0:], uint32(c.subscription))
	binary.LittleEndian.PutUint16(b[4:], c.turn)
	binary.LittleEndian.PutUint16(b[6:], c.executions)
	binary.LittleEndian.PutUint64(b[8:], uint64(c.running))
	binary.LittleEndian.PutUint64(b[16:], uint64(c.highest))
	binary.LittleEndian.PutUint32(b[24:], c.life)
	binary.LittleEndian.PutUint32(b[28:], crc32.ChecksumIEEE(b[:28]))
}

// decodeClaim reports false for a place that was never used or torn by a
// power cut.
func decodeClaim(b []byte) (claim, bool) {
	if crc32.ChecksumIEEE(b[:28]) != binary.LittleEndian.Uint32(b[28:]) {
		return claim{}, false
	}
	c := claim{
		subscription: int64(binary.LittleEndian.Uint32(b[0:])),
		turn:         binary.LittleEndian.Uint16(b[4:]),
		executions:   binary.LittleEndian.Uint16(b[6:]),
		running:      int64(binary.LittleEndian.Uint64(b[8:])),
		highest:      int64(binary.LittleEndian.Uint64(b[16:])),
		life:         binary.LittleEndian.Uint32(b[24:]),
	}
	return c, c.subscription != 0
}

// errOwned says that another process, or another log of this one, holds the lock.
var errOwned = errors.New("the file is locked by the process that dispatches")

// ownerByte is the byte of the database whose lock the dispatching process holds. It
// is far behind what a database can have, and SQLite's own locks are at 1 GiB.
const ownerByte int64 = 1 << 60

// lookTime is longer than anybody takes who only looks whether there is an owner
// ([owned]), and has to take the lock for that.
const lookTime = 2 * time.Millisecond

// withHandle calls f with the system's handle of a file, which stays open meanwhile,
// or returns an error because it is closed.
func withHandle(file *os.File, f func(handle uintptr)) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(f)
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

// own makes this process the one that dispatches, or returns errOwned. The
// operating system gives the locks back when the process ends, however it ends.
func (c *claims) own() error {
	if c.owns() {
		return errOwned // by this very log, whose lock must not be given back
	}
	file, err := c.openOwned()
	if errors.Is(err, errOwned) {
		time.Sleep(lookTime)
		file, err = c.openOwned()
	}
	if err != nil {
		return err
	}
	c.lock()
	defer c.unlock()
	c.file = file
	return nil
}

// owns tells whether this log dispatches.
func (c *claims) owns() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.file != nil
}

// openOwned takes both locks: that of the database, and that of the claims, which is
// the only one where the database cannot be locked.
func (c *claims) openOwned() (*os.File, error) {
	if c.log != nil {
		if err := lockOwner(c.log); err != nil {
			return nil, err
		}
	}
	if c.of != "" {
		createBeside(c.of, claimsSuffix) // else the next line says why it cannot be opened
	}
	file, err := openLocked(c.path)
	if err == nil {
		// A pipe or a device in its place may never end.
		var info os.FileInfo
		if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() {
			err = errors.Join(errNotPlain, err, file.Close())
		}
	}
	if err != nil && c.log != nil {
		err = errors.Join(err, unlockOwner(c.log))
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

var errNotPlain = errors.New("it is not a plain file")

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

// claimsOf returns what the two places of a worker say.
func claimsOf(content []byte) []claim {
	one, ok := decodeClaim(content)
	if len(content) < 2*claimSize {
		content = append(content[:claimSize:claimSize], make([]byte, claimSize)...)
	}
	first, second := content[:claimSize], content[claimSize:2*claimSize]
	other, otherOK := decodeClaim(second)
	switch {
	case ok && otherOK && one.subscription == other.subscription && one.life == other.life:
		if int16(other.turn-one.turn) > 0 {
			one, other = other, one
		}
		one.highest = max(one.highest, other.highest)
		return []claim{one}
	case ok && otherOK:
		return []claim{one, other}
	case ok:
		return []claim{beforeTorn(one, second)}
	case otherOK:
		return []claim{beforeTorn(other, first)}
	}
	return nil
}

// beforeTorn returns what a claim says beside a torn one: its worker was about
// to go on, so it was through with what the claim says.
func beforeTorn(one claim, beside []byte) claim {
	if slices.ContainsFunc(beside, func(b byte) bool { return b != 0 }) {
		one.running = 0
	}
	return one
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
		logger.Error("the claims are gone and cannot be made again; a crash is recorded for nobody", "path", c.path, "error", err)
		return
	}
	c.lamented = false
	logger.Warn("the claims were moved or deleted while the bus runs; they are made again", "path", c.path)
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

// release gives the lock back. Nothing runs any more, so nothing is claimed.
func (c *claims) release() error {
	c.lock()
	defer c.unlock()
	if c.file == nil {
		return nil
	}
	return errors.Join(c.file.Truncate(0), c.close())
}

// abandon gives the lock back, and leaves what the file says to the next
// owner: not everything of it is in the log.
func (c *claims) abandon() error {
	c.lock()
	defer c.unlock()
	if c.file == nil {
		return nil
	}
	return c.close()
}

// close gives both locks back. The caller holds all locks of the places.
func (c *claims) close() error {
	err := errors.Join(unmapFile(c.mapped), c.file.Close())
	c.file, c.mapped = nil, nil
	if c.log != nil {
		err = errors.Join(err, unlockOwner(c.log))
	}
	return err
}

// shut closes the database, after the locks were given back.
func (c *claims) shut() error {
	if c.log == nil {
		return nil
	}
	return c.log.Close()
}
