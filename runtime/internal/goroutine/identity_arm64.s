#include "textflag.h"

// func Identity() uint64
TEXT ·Identity(SB),NOSPLIT,$0-8
	MOVD	g, ret+0(FP) // where the runtime keeps what it knows of the goroutine
	RET
