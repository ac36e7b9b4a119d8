package truncation

// What can become of structured content.
const (
	shortened = "shortened"
	leftOut   = "left out"
)

// alone brings structured content that no block repeats within what it may have. A
// text says so, for those who read only text.
func (c *cutting) alone(i int, p piece, allowed budget) {
	if allowed.holds(p.size) {
		return
	}
	size := len(p.Text)
	room := allowed.minus(c.left.sizeOf(c.leftOut(i, unnamed)))
	c.structure(p.Text, room)
	c.AppendText(c.shownStructured(i, size, len(c.Structured())), nil)
}

// follow makes structured content that block i repeats as short as that has become.
func (c *cutting) follow(i int, was piece) {
	text := ""
	if i < len(c.Blocks()) {
		text = c.Blocks()[i].Content().Text
	}
	if text != was.Text {
		c.structure(string(c.Structured()), c.all().min(limit(max(len(text), 1), 0)))
	}
}

// structure shortens structured content so that it stays what the tool's output
// schema says, or leaves it out.
func (c *cutting) structure(whole string, room budget) {
	cut, ok := room.shorten(len(whole), func(n int) (string, bool) {
		j := cutter{tail: c.Keep == keepHeadTail}
		short, ok := j.cut([]byte(whole), n)
		return string(short), ok
	})
	if !ok || !c.valid([]byte(cut)) {
		c.DropStructured()
		c.structured = leftOut
		return
	}
	if cut != whole {
		c.SetStructured([]byte(cut))
		c.structured = shortened
	}
}
