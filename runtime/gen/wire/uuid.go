package wire

import (
	"encoding/binary"

	"github.com/google/uuid"
)

const (
	uuidForm   = `"00000000-0000-0000-0000-000000000000"`
	uuidLength = len(uuidForm)
)

// appendUUID appends id in its usual form, with quotes.
func appendUUID(buf []byte, id *uuid.UUID) []byte {
	start := len(buf)
	buf = append(buf, uuidForm...)
	text := (*[uuidLength]byte)(buf[start:])
	le := binary.LittleEndian
	first, second := hexDigits(le.Uint32(id[0:])), hexDigits(le.Uint32(id[4:]))
	third, fourth := hexDigits(le.Uint32(id[8:])), hexDigits(le.Uint32(id[12:]))
	le.PutUint64(text[1:], first)
	le.PutUint32(text[10:], uint32(second))
	le.PutUint32(text[15:], uint32(second>>32))
	le.PutUint32(text[20:], uint32(third))
	le.PutUint32(text[25:], uint32(third>>32))
	le.PutUint64(text[29:], fourth)
	return buf
}

// parseUUID sets id to what appendUUID has written at the start of text. It returns false if there is anything else,
// such as a UUID in another form, which UnmarshalText knows.
func parseUUID(text []byte, id *uuid.UUID) bool {
	if len(text) < uuidLength {
		return false
	}
	t := (*[uuidLength]byte)(text)
	if t[0] != '"' || t[9] != '-' || t[14] != '-' || t[19] != '-' || t[24] != '-' || t[37] != '"' {
		return false
	}
	le := binary.LittleEndian
	first, ok1 := parseHexDigits(le.Uint64(t[1:]))
	second, ok2 := parseHexDigits(uint64(le.Uint32(t[10:])) | uint64(le.Uint32(t[15:]))<<32)
	third, ok3 := parseHexDigits(uint64(le.Uint32(t[20:])) | uint64(le.Uint32(t[25:]))<<32)
	fourth, ok4 := parseHexDigits(le.Uint64(t[29:]))
	le.PutUint32(id[0:], first)
	le.PutUint32(id[4:], second)
	le.PutUint32(id[8:], third)
	le.PutUint32(id[12:], fourth)
	return ok1 && ok2 && ok3 && ok4
}

// The functions below handle eight hexadecimal digits at once, as one number whose lowest byte is the first digit. Four
// bytes are a number whose lowest byte is the first, too.

// hexDigits returns the digits of four bytes.
func hexDigits(four uint32) uint64 {
	x := uint64(four)
	x = (x | x<<16) & 0x0000ffff_0000ffff
	x = (x | x<<8) & 0x00ff00ff_00ff00ff                        // a byte in each 16 bits
	return hexText((x >> 4 & (0x0f * ones)) | x<<8&(0x0f*ones)) // its upper half first
}

// parseHexDigits is the opposite of hexDigits. It returns false for anything but the digits 0 to 9 and a to f.
func parseHexDigits(digits uint64) (four uint32, ok bool) {
	values := digits&(0x0f*ones) + digits>>6&ones*9 // letters have bit 6, and 'a' ends with 1
	x := (values<<4 | values>>8) & 0x00ff00ff_00ff00ff
	x = (x | x>>8) & 0x0000ffff_0000ffff
	return uint32(x | x>>16), values&(0xf0*ones) == 0 && hexText(values) == digits
}

// hexText returns digits with these values, each of which is less than 16.
func hexText(values uint64) uint64 {
	letters := (values + 6*ones) >> 4 & ones // 1 for each that is more than 9
	return values + '0'*ones + letters*('a'-'9'-1)
}
