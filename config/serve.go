package config

import (
	"time"

	"github.com/openmanus-go/openmanus"
)

// Serve is [serve]: the server.
type Serve struct {
	Addr  string        // HOST:PORT
	Hosts []string      // names under which the server may be reached
	Root  string        // the directory that holds the workspaces; "": one in the data directory
	Idle  time.Duration // how long a session may be idle before its processes end; 0: no limit

	IdleSessions int // the most idle sessions that keep their processes

	// The limits of one user: the most sessions that run at the same time, that are
	// kept, and that are created within an hour; and bytes, in the directory of
	// workspaces and uploaded within an hour.
	Sessions, SessionsKept, SessionsPerHour int
	Disk, UploadPerHour                     int64

	Public string // the address under which others reach the server; "": any of its names
	A2A    bool   // whether other agents may give tasks over A2A
	A2AKey string // a file with the private key that signs the card; "": it is not signed
}

// A User is [users.NAME]: a user of the server.
type User struct {
	Token    Secret
	TokenEnv string // the environment variable that holds the token, instead
	Approve  string // the widest mode of this user's sessions
	Admin    bool   // whether the user may read the metrics, which are about all users

	// The most that all sessions of the user may use in a day of UTC; 0: no
	// limit.
	DayCost   openmanus.Money
	DayTokens int
}

// A RemoteAgent is [a2a.NAME]: an agent elsewhere that speaks A2A.
type RemoteAgent struct {
	URL      string // of its card, or of its server
	Token    Secret
	TokenEnv string        // the environment variable that holds the token, instead
	Timeout  time.Duration // the longest that one task may take; 0: the default
}

// A Trigger is [triggers.NAME]: what begins when another service posts that something has
// happened. Package server/triggers says what its words mean.
type Trigger struct {
	Signature, SecretEnv, Template         string
	When                                   []string
	Agent, Model, Workspace, Approve, User string
}

// A Schedule is [schedules.NAME]: a task that repeats. The configuration does not look into
// its times and words, which package host/scheduled does.
type Schedule struct {
	Cron, Every, At, RRule string
	Zone, Jitter           string
	Missed, Overlap        string

	Task, Agent, Model, Workspace, Approve, Result, Mail, User string

	SameSession bool // every run is a message to one session

	MaxSteps, Tokens int // 0: as in [run]
	MaxCost          openmanus.Money
	Timeout          time.Duration
}
