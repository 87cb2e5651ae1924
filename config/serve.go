package config

import (
	"time"

	"github.com/openmanus-go/openmanus"
)

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

func serveKeys() []key {
	return []key{
		{name: "serve.addr", kind: kindText, std: "127.0.0.1:8420", flag: "addr",
			doc: "Where the server listens: HOST:PORT; port 0 picks one.",
			at:  func(c *Config, _ string) any { return &c.Serve.Addr }},
		{name: "serve.hosts", kind: kindList,
			doc: "Names, besides those of this machine itself, under which browsers may reach the server.",
			at:  func(c *Config, _ string) any { return &c.Serve.Hosts }},
		{name: "serve.root", kind: kindPath,
			doc: "The directory below which the workspaces of sessions lie. By default `workspaces` in the data directory.",
			at:  func(c *Config, _ string) any { return &c.Serve.Root }},
		{name: "serve.sessions", kind: kindCount, std: "100",
			doc: "Sessions of one user that are at work at once, at most.",
			at:  func(c *Config, _ string) any { return &c.Serve.Sessions }},
		{name: "serve.idle", kind: kindDuration, std: "30m0s",
			doc: "How long a session rests until its shells, its browser and all else that runs for it are ended, with what they started. The next message to it begins with new ones, and the agent is told. `0` keeps them until the server ends.",
			at:  func(c *Config, _ string) any { return &c.Serve.Idle }},
	}
}

func userKeys() []key {
	at := func(field func(*User) any) func(*Config, string) any {
		return func(c *Config, name string) any { return field(c.Users[name]) }
	}
	return []key{
		{name: "users.*.token", kind: kindSecret, doc: "What shows who it is: 16 characters or more.", at: at(func(u *User) any { return &u.Token })},
		{name: "users.*.token_env", kind: kindText, doc: "The environment variable that has the token, instead of `token`.", at: at(func(u *User) any { return &u.TokenEnv })},
		{name: "users.*.approve", kind: choice(openmanus.ApproveReadOnly, openmanus.ApproveAsk, openmanus.ApproveEdits, openmanus.ApproveAll),
			doc: "The widest approval mode of this user's sessions; `ask` if nothing is said. It is that of calls by the API of OpenAI, where nobody can be asked: there, `ask` denies what would be asked about.",
			at:  at(func(u *User) any { return &u.Approve })},
	}
}
