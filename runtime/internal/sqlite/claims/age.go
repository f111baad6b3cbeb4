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

// SetAge says how old this process is.
func (c *File) SetAge(age Age) {
	c.mu.Lock()
	p := c.process
	c.mu.Unlock()
	if p == nil {
		p = c.Reserve()
		c.mu.Lock()
		c.process = p
		c.mu.Unlock()
	}
	c.claim(p, ofProcess, int64(age), 0, 0)
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
