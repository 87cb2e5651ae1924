// Package scripted is a model that says what a file tells it to. It streams
// like a real one, needs no key and no network, and says the same each time:
// for demonstrations, tests, bug reports, and to learn how an agent works.
//
// A script is a txtar archive, which a person can write by hand:
//
//	Counts the lines of a file.        <- what comes first is for people
//
//	-- 1 --
//	I count the lines.
//
//	@call bash
//	  command: wc -l notes.txt
//
//	-- 2 --
//	There are three lines.
//
// # Replies
//
// Each section is a reply. Its name says to which conversations: -- 1 --
// replies where the assistant has not spoken yet, -- 2 -- where it has spoken
// once, and so on. More words may follow, for people: -- 2 after counting --.
// These are names too:
//
//	-- look --       any other word: the reply after that of the section before
//	-- 3-7 --        replies 3 to 7
//	-- 3- --         all from 3 on
//	-- 3-/2 --       every second from 3 on: 3, 5, 7...
//	-- any --        all
//
// Of several sections that could reply, the first in the file does. In those
// that reply more than once, {{n}} stands for the number of the reply.
//
// A reply follows from the conversation alone. So a run that was killed goes
// on where it was, and any number of sessions can share a script.
//
// # What a reply says
//
// Lines are text, without the empty lines around it. A line that begins with
// @ is one of the following (and @@ begins a line of text with one @):
//
//	@call NAME {"key": "value"}     a call, with its arguments as JSON, on one line or more
//	@call NAME                      a call, with its arguments on indented lines:
//	  key: some text                  a string, to the end of the line
//	  key: <<END                      a string of several lines, each ended by a newline
//	some lines
//	END
//	  key = 12                        any JSON, on one line or more
//	@call NAME <<END                arguments as they are, such as broken JSON
//	{"key":
//	END
//	@call NAME#ID ...               a call with an id of its own; NAME# has an empty one
//	@thinking some text             what the model thinks; <<END is possible here too
//	@stop length                    why it ends: end, tool_use, length, filter, refusal
//	@usage input=900 output=20 cached=800    tokens; else they are estimated, four bytes to a token
//	@pace 20ms                      between fragments; at the head of the file, for all replies
//
// Where a line such as "-- x --" is part of a text, write "@-- x --".
//
// # When things go wrong
//
//	@fail 429 retry-after=2s times=2 Slow down.   an error, here, of an HTTP status or a kind
//	@fail network It is gone.                     auth model rate_limit context filter refusal network timeout protocol
//	@cut                            the reply breaks off here
//	@cut 20 times=1                 ... or after so many bytes of its texts and arguments
//
// With times, the first tries of that reply fail, and then it goes well. The
// tries of a conversation are counted in its [llm.Memo], so they begin again
// in a new process.
//
// # What must be so
//
//	@when results contains 3 notes.txt   the section replies only if this is so
//	@expect tools contains bash          it must be so: otherwise the request fails and says why
//
// After @when and @expect comes what is looked at: system, tools (their
// names), task (the first message of the user's), user (the last one), last
// (the last message, whoever's), results (of calls, in the last message),
// errors (those results that are errors) or conversation (all that was said).
// Then contains, is, or matches (a regular expression), or one of them after
// "not". Then a text: to the end of the line, or "quoted", or <<END.
//
// # Example
//
//	-- 1 --
//	@expect tools contains bash
//	@call bash {"command": "cat answer.txt"}
//
//	-- 2 if it is there --
//	@when results contains 42
//	It says 42.
//
//	-- 2 if not --
//	@fail 503 times=1 The server is busy.
//	There is no answer.
package scripted
