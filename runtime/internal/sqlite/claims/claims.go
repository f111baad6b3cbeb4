// Package claims keeps the file beside a log that says which event each worker is busy
// with. [File.Own] makes this process the one that dispatches. Begin and End of an attempt
// write to memory that is mapped to the file, which outlives the process. After a crash the
// next owner reads the claims, counts the crash as an attempt of what was being handled, and
// clears the file.
package claims

import (
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"sync"

	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

// File is the file beside the log that says who dispatches and what the workers are busy
// with. A worker has two places of 32 bytes, and overwrites the
// older one when it starts an attempt: killed in the middle, it has left the
// other. That survives the death of the process, which is all it is for,
// and costs next to nothing where a transaction would cost twenty microseconds:
// the file is mapped into memory where the platform can, and never synced.
type File struct {
	path string
	of   string // path of the database; empty for one that is not a file of the system
	// database is open for its lock, which says who dispatches; nil where it cannot be
	// locked.
	database *os.File

	// Changed by who holds mu and the locks of all places, so that one of them
	// is enough to read it: workers must not wait for each other.
	file   *os.File    // nil unless this process dispatches
	is     os.FileInfo // which file that is
	mapped []byte      // the first places of file; nil where there is no mapping
	life   uint32      // of this process as the owner; the log knows the newest

	mu     sync.Mutex
	places []*Place

	process  *Place // says how old the process is, and what it cannot do; nil before it says so
	syncing  syncing
	lamented bool // the log was told that the file cannot be made again; only Keep uses it
}

// Place is where a worker writes its claims.
type Place struct {
	number int
	mu     sync.Mutex
	last   Claim // as written
	_      [64]byte
}

// lockAll takes mu and the locks of all places, for who changes what workers read.
func (c *File) lockAll() {
	c.mu.Lock()
	for _, p := range c.places {
		p.mu.Lock()
	}
}

func (c *File) unlockAll() {
	for _, p := range c.places {
		p.mu.Unlock()
	}
	c.mu.Unlock()
}

// Open returns the claims file of the database at path, which has been resolved. It creates
// no file and takes no lock: [File.Own] does. Close it at the end.
func Open(path, vfsName string) (*File, error) {
	c := &File{path: path + file.ClaimsSuffix}
	if vfsName != "" || file.Mounted(path) != "" {
		return c, nil
	}
	c.of = path
	if !locks.CanLockDatabase {
		return c, nil
	}
	var err error
	if c.database, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return nil, fault.Wrap("open", path, err)
	}
	return c, nil
}

// Shared reports whether other processes can dispatch from the database: it is a file of
// the system.
func (c *File) Shared() bool { return c.of != "" }

// Read returns what the last owner left: the claims of its workers, and what it said of itself.
func (c *File) Read() (found []Claim, process Process, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	content, err := io.ReadAll(io.LimitReader(c.file, claimsLimit))
	if err != nil {
		return nil, Process{}, err
	}
	for ; len(content) >= claimSize; content = content[min(2*claimSize, len(content)):] {
		for _, one := range claimsOf(content) {
			if one.Subscription == ofProcess {
				said := processOf(one)
				process.Age, process.Fault = max(process.Age, said.Age), max(process.Fault, said.Fault)
			} else {
				found = append(found, one)
			}
		}
	}
	return found, process, nil
}

// Left returns what the claims file at path says, without its lock, and nothing
// if that cannot be read. It reads a plain file only.
func Left(path string) ([]Claim, Process) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, Process{}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, Process{}
	}
	defer file.Close()
	found, process, err := (&File{file: file}).Read()
	if err != nil {
		return nil, Process{}
	}
	return found, process
}

// Clear forgets what the last owner left, which is in the log by now, and
// prepares the file for this one, whose life it is.
func (c *File) Clear(life uint32) error {
	c.lockAll()
	defer c.unlockAll()
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
	size := mappedFor(len(c.places))
	if _, err := c.file.WriteAt(make([]byte, size), 0); err == nil {
		c.mapped, _ = mapFile(c.file, size)
	}
	return nil
}

// mappedFor returns how much is mapped for so many places.
func mappedFor(places int) int {
	size := claimsBytes
	for size < mappedLimit && size < 2*claimSize*places {
		size *= 2
	}
	return size
}

// grow maps more of the file if there are more places than the mapping has. What cannot be
// mapped is written. The caller holds mu.
func (c *File) grow() {
	before, size := len(c.mapped), mappedFor(len(c.places))
	if before == 0 || size <= before {
		return
	}
	for _, p := range c.places {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	more := make([]byte, size-before) // with what was written behind the mapping
	if _, err := c.file.ReadAt(more, int64(before)); err != nil && err != io.EOF {
		return
	}
	if _, err := c.file.WriteAt(more, int64(before)); err != nil {
		return
	}
	if mapped, err := mapFile(c.file, size); err == nil {
		unmapFile(c.mapped)
		c.mapped = mapped
	}
}

// Reserve returns a place for one more worker.
func (c *File) Reserve() *Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reserve()
}

// reserve is Reserve for who holds mu.
func (c *File) reserve() *Place {
	p := &Place{number: len(c.places)}
	c.places = append(c.places, p)
	c.grow()
	return p
}

// Begin says that the worker at p is busy with seq, after so many executions, and that seqs up to upTo may have begun. An
// error is not reported: the worst it does is that a crash counts for nobody.
func (c *File) Begin(p *Place, subscription, seq, upTo int64, executions int) {
	c.claim(p, subscription, seq, upTo, executions)
}

// BeginExpress says that of the events which go ahead of the log those up to seq may have begun. The place is for nothing else.
func (c *File) BeginExpress(p *Place, subscription, seq int64) {
	p.mu.Lock()
	p.begin(c.life, subscription, 0, seq, 0)
	p.last.Express = true
	ok := c.write(p)
	p.mu.Unlock()
	if !ok {
		c.giveUpMapping(p)
	}
}

// Prepare is Begin for an event that no handler has been called for.
func (c *File) Prepare(p *Place, subscription, seq int64, executions int) {
	c.claim(p, subscription, seq, 0, executions)
}

func (c *File) claim(p *Place, subscription, seq, begun int64, executions int) {
	p.mu.Lock()
	p.begin(c.life, subscription, seq, begun, executions)
	ok := c.write(p)
	p.mu.Unlock()
	if !ok {
		c.giveUpMapping(p)
	}
}

// begin is what the worker says when it is busy. The caller holds mu.
func (p *Place) begin(life uint32, subscription, seq, begun int64, executions int) {
	p.last = Claim{
		Subscription: subscription, Running: seq, Highest: max(begun, p.last.Highest),
		Life: life, Executions: uint16(executions), turn: p.last.turn + 1,
	}
}

// Busy reports whether the worker at p runs a handler.
func (p *Place) Busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last.Running != 0
}

// SetWaiting says whether the handler of the worker at p, which is busy with seq, waits
// for other handlers.
func (c *File) SetWaiting(p *Place, seq int64, waits bool) {
	c.change(p, seq, seq, waits)
}

// End says that the worker at p is no longer busy with seq.
func (c *File) End(p *Place, seq int64) {
	c.change(p, seq, 0, false)
}

// change replaces what the claim of the worker at p says, if that is busy with seq.
func (c *File) change(p *Place, seq, running int64, waits bool) {
	ok := true
	p.mu.Lock()
	if p.change(seq, running, waits) {
		ok = c.write(p)
	}
	p.mu.Unlock()
	if !ok {
		c.giveUpMapping(p)
	}
}

// change reports false if the worker is not busy with seq. The caller holds mu.
func (p *Place) change(seq, running int64, waits bool) bool {
	if p.last.Running != seq {
		return false
	}
	p.last.Running, p.last.Waits = running, waits
	p.last.turn++
	return true
}

// write puts the claim of p into the file. It reports false when the mapping
// cannot be written to. What cannot be written must not stay as it was: the
// attempt would count although it is over. Then the claims are given up that can
// be, and a crash counts for nobody. The caller holds the place's mu.
func (c *File) write(p *Place) bool {
	if c.file == nil {
		return true
	}
	at, mapped := c.at(p)
	if mapped {
		return poke(c.mapped[at:at+claimSize], p.last)
	}
	encoded := make([]byte, claimSize)
	p.last.encode(encoded)
	if _, err := c.file.WriteAt(encoded, int64(at)); err != nil {
		c.file.Truncate(int64(len(c.mapped)))
	}
	return true
}

// at returns where the claim of p is to be written, and whether that is mapped. The caller
// holds the place's mu.
func (c *File) at(p *Place) (offset int, mapped bool) {
	offset = (2*p.number + int(p.last.turn%2)) * claimSize
	return offset, offset+claimSize <= len(c.mapped)
}

// giveUpMapping makes all workers write to the file from now on, the one at p
// what it could not write before.
func (c *File) giveUpMapping(p *Place) {
	c.lockAll()
	defer c.unlockAll()
	unmapFile(c.mapped)
	c.mapped = nil
	c.write(p)
}

// poke writes to mapped memory. It reports false when there is nothing behind
// it any more, because the file was cut or the disk has failed; by itself, that
// would end the process.
func poke(b []byte, one Claim) (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil }()
	one.encode(b)
	return true
}

// Keep makes the file again if somebody has moved or deleted it, with what it said.
func (c *File) Keep(logger *slog.Logger) {
	c.mu.Lock()
	is, of := c.is, c.of
	c.mu.Unlock()
	if is == nil || of == "" || file.IsSame(c.path, is) {
		return
	}
	file.CreateBeside(of, file.ClaimsSuffix)
	again, err := locks.OpenLocked(c.path)
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
func (c *File) moveTo(file *os.File) error {
	c.lockAll()
	defer c.unlockAll()
	is, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	size := mappedFor(len(c.places))
	content := make([]byte, max(size, 2*claimSize*len(c.places)))
	if _, err := c.file.ReadAt(content, 0); err != nil && err != io.EOF {
		return errors.Join(err, file.Close())
	}
	if _, err := file.WriteAt(content, 0); err != nil {
		return errors.Join(err, file.Close())
	}
	err = errors.Join(unmapFile(c.mapped), c.file.Close())
	c.file, c.is = file, is
	c.mapped, _ = mapFile(file, size)
	return err
}

// Forget erases what the last owner has left about a subscription.
func (c *File) Forget(subscription int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	content, err := io.ReadAll(io.NewSectionReader(c.file, 0, math.MaxInt64))
	if err != nil {
		return err
	}
	for at := 0; at+claimSize <= len(content); at += claimSize {
		one, ok := decodeClaim(content[at : at+claimSize])
		if !ok || one.Subscription != subscription {
			continue
		}
		if _, err := c.file.WriteAt(make([]byte, claimSize), int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// Deleted reports whether the database has no name left. It is false where the
// database is not open here.
func (c *File) Deleted() bool {
	if c.database == nil {
		return false
	}
	info, err := c.database.Stat()
	return err == nil && file.Links(info) == 0
}

// Info describes the database, which may have another name by now; nil where it is not open here.
func (c *File) Info() os.FileInfo {
	if c.database == nil {
		return nil
	}
	info, _ := c.database.Stat()
	return info
}

// Name returns what the database is called now, or "" where that cannot be known.
func (c *File) Name() string {
	if c.database == nil {
		return ""
	}
	return file.NameOf(c.database)
}
