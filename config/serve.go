package config

import "time"

// Serve is [serve]: the server.
type Serve struct {
	Addr     string        // HOST:PORT
	Hosts    []string      // names under which the server may be reached
	Root     string        // the directory that holds the workspaces; "": one in the data directory
	Sessions int           // the most of one user that run at the same time
	Idle     time.Duration // how long a session may be idle before its processes end; 0: no limit
}

// A User is [users.NAME]: a user of the server.
type User struct {
	Token    Secret
	TokenEnv string // the environment variable that holds the token, instead
	Approve  string // the widest mode of this user's sessions
}
