package hookset

func (s *Set) wake() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}
