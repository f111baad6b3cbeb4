package claims

import "math"

// Age is how long a process has dispatched, as far as the next owner has to know. It is a
// claim of its own in the file, which also survives the death of the process.
type Age int

const (
	Grown   Age = iota // it has lived for long enough, or nobody knows
	Young              // it has not
	Looping            // it has not, and the processes before it have died young
)

// ofProcess is the Subscription of the claim that says how old the process is. Subscriptions
// do not get such numbers, and who does not know of it takes it for one that is gone.
const ofProcess = math.MaxUint32

func ageOf(c Claim) Age {
	switch age := Age(c.Running); age {
	case Young, Looping:
		return age
	}
	return Grown
}

// Process is what the file says about the process that dispatches, or that did.
type Process struct {
	Age Age
	// Fault is what keeps it from storing anything, as a number of the one who has set it; 0 for
	// nothing. It can be said on a full disk: the file has its space.
	Fault uint16
}

func processOf(c Claim) Process { return Process{Age: ageOf(c), Fault: c.Executions} }

// SetAge says how old this process is.
func (c *File) SetAge(age Age) {
	c.sayOfProcess(func(one *Claim) { one.Running = int64(age) })
}

// SetFault says what keeps this process from storing anything.
func (c *File) SetFault(fault uint16) {
	c.sayOfProcess(func(one *Claim) { one.Executions = fault })
}

func (c *File) sayOfProcess(change func(*Claim)) {
	p := c.ofProcess()
	p.mu.Lock()
	p.last.Subscription, p.last.Life = ofProcess, c.life
	change(&p.last)
	p.last.turn++
	ok := c.write(p)
	p.mu.Unlock()
	if !ok {
		c.giveUpMapping(p)
	}
}

// ofProcess returns the place of the process.
func (c *File) ofProcess() *Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		c.process = c.reserve()
	}
	return c.process
}

// DiedYoung reports whether a process that has left this has died young while handlers ran, or
// young after others had.
func DiedYoung(left []Claim, age Age) bool {
	if age != Young {
		return age == Looping
	}
	for _, one := range left {
		if one.Running != 0 {
			return true
		}
	}
	return false
}
