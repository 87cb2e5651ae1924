package openmanus

// Ahead is for tests: see [State.ahead].
func (s *State) Ahead() *State { return s.ahead() }
