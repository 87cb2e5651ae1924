package run

import "sync"

// checkedInputs remembers arguments that fit the schema of their tool, from the
// ruling on a call until it runs: a driver then checks the arguments of most calls
// once. A nil *checkedInputs remembers nothing. It is safe for concurrent use.
type checkedInputs struct {
	mu    sync.Mutex
	calls map[string]checkedInput // by call
}

// A checkedInput is the result of a check.
type checkedInput struct {
	config int    // the configuration that has the schema
	given  string // the arguments before repairs
	fit    string // the arguments with repairs
}

// maxChecked is the most calls that checkedInputs remembers. Calls that never run
// stay until there are so many.
const maxChecked = 64

// once returns what check returns for the arguments given of a call under the
// configuration with this number. It does not call check if that accepted the same
// arguments before.
func (m *checkedInputs) once(config int, call, given string, check func() (string, error)) (string, error) {
	if m == nil {
		return check()
	}
	m.mu.Lock()
	known, ok := m.calls[call]
	m.mu.Unlock()
	if ok && known.config == config && (known.given == given || known.fit == given) {
		return known.fit, nil
	}
	fit, err := check()
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls == nil || len(m.calls) >= maxChecked {
		m.calls = make(map[string]checkedInput)
	}
	m.calls[call] = checkedInput{config, given, fit}
	return fit, nil
}
