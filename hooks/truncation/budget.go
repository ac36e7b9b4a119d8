package truncation

import (
	"math"

	"github.com/toolscout/toolscout/core/tokens"
)

// budget is how much text there may be, in both measures.
type budget struct{ bytes, tokens int }

// unlimited stands for a limit of 0, which is none.
const unlimited = math.MaxInt

func limit(bytes, tokens int) budget {
	b := budget{bytes, tokens}
	if b.bytes == 0 {
		b.bytes = unlimited
	}
	if b.tokens == 0 {
		b.tokens = unlimited
	}
	return b
}

// count measures a text.
func count(s string) budget { return budget{len(s), tokens.Estimate(s)} }

// sizeOf measures a text. Where tokens are unlimited they are not counted.
func (b budget) sizeOf(s string) budget {
	if b.tokens == unlimited {
		return budget{bytes: len(s)}
	}
	return count(s)
}

func (b budget) holds(size budget) bool { return size.bytes <= b.bytes && size.tokens <= b.tokens }

func (b budget) min(o budget) budget { return budget{min(b.bytes, o.bytes), min(b.tokens, o.tokens)} }

func (b budget) plus(o budget) budget { return budget{b.bytes + o.bytes, b.tokens + o.tokens} }

// minus leaves what is unlimited so.
func (b budget) minus(o budget) budget {
	if b.bytes != unlimited {
		b.bytes -= o.bytes
	}
	if b.tokens != unlimited {
		b.tokens -= o.tokens
	}
	return b
}

// rounds is how often shorten tries to come near the limit of tokens.
const rounds = 6

// shorten has f make a text of at most some bytes, and of fewer until it has no more
// tokens than there may be.
func (b budget) shorten(size int, f func(n int) (string, bool)) (string, bool) {
	n := min(b.bytes, size)
	for range rounds {
		s, ok := f(n)
		if !ok || b.tokens == unlimited {
			return s, ok
		}
		count := tokens.Estimate(s)
		if count <= b.tokens {
			return s, true
		}
		n = int(float64(n) * float64(b.tokens) / float64(count) * .95)
	}
	return f(min(n, b.tokens)) // a token has a byte at least
}
