package wire

import "strconv"

// Int reads a whole number.
func (r *Reader) Int() int { return int(r.integer(strconv.IntSize)) }

// Int32 reads a whole number.
func (r *Reader) Int32() int32 { return int32(r.integer(32)) }

// Int64 reads a whole number.
func (r *Reader) Int64() int64 { return r.integer(64) }

func (r *Reader) integer(size int) int64 {
	negative := r.skip('-')
	n := r.Uint64()
	limit := uint64(1)<<(size-1) - 1
	if negative {
		limit++
	}
	if n > limit {
		r.giveUp()
	}
	if negative {
		return -int64(n)
	}
	return int64(n)
}

// Uint64 reads a whole number that is not negative.
func (r *Reader) Uint64() (n uint64) {
	data, start := r.data, r.at
	at := start
	for at < len(data) && data[at]-'0' <= 9 {
		n = n*10 + uint64(data[at]-'0')
		at++
	}
	r.at = at
	switch length := at - start; {
	case length == 0 || length > 1 && data[start] == '0':
		r.giveUp()
		return 0
	case length > 19: // it may be larger than any uint64
		n, err := strconv.ParseUint(string(data[start:at]), 10, 64)
		if err != nil {
			r.giveUp()
		}
		return n
	}
	return n
}

// digits moves past digits.
func (r *Reader) digits() []byte {
	start := r.at
	for r.at < len(r.data) && r.data[r.at]-'0' <= 9 {
		r.at++
	}
	return r.data[start:r.at]
}

// Float64 reads a number.
func (r *Reader) Float64() float64 {
	start := r.at
	r.skip('-')
	if whole := r.digits(); len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		r.giveUp()
	}
	if r.skip('.') && len(r.digits()) == 0 {
		r.giveUp()
	}
	if r.skip('e') || r.skip('E') {
		if !r.skip('-') {
			r.skip('+')
		}
		r.digits()
	}
	if r.gaveUp {
		return 0
	}
	f, err := strconv.ParseFloat(string(r.data[start:r.at]), 64)
	if err != nil { // no digits behind the e, or out of range
		r.giveUp()
	}
	return f
}
