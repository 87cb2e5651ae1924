package config

import "time"

// Serve is [serve].
type Serve struct {
	Addr     string        // HOST:PORT
	Hosts    []string      // names under which the server may be reached
	Root     string        // below which the workspaces lie; "" is one in the data directory
	Sessions int           // of one user that are at work at once
	Idle     time.Duration // how long a session rests until what runs for it is ended; 0: for ever
}

// A User is [users.NAME]: who may use the server.
type User struct {
	Token    Secret
	TokenEnv string // the environment variable that has the token, instead
	Approve  string // the widest mode of this user's sessions
}
