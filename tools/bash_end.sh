# What the shell does with a command, and after it. The tool puts the words in capitals in,
# and sends CALL, and END besides: a command can make the shell drop the rest of its line.
# Each is one line and short, because the shell reads its input byte by byte.
#
# Nothing here relies on a name that a command can define: no function is kept, no alias
# applies, and while the shell is in the mode of POSIX, the special builtins come before
# functions. LOOK, FINISH and RECORD are variables that cannot be changed. RECORD takes functions of
# the names "builtin" and "." away.

# CALL runs the command, with output to the tool.
{ OPENMANUS_CALL=TAG \. /dev/fd/62 62<<<COMMAND </dev/null; { __om=("$?" "$-" "$SHELLOPTS" MARK1 MARK2) POSIXLY_CORRECT=y; \eval "$__om_look"; } 59>&1 58>&2 >/dev/null 2>&1; } >&60 2>&60; { \eval "$__om_finish"; } >/dev/null 2>&1

# END ends the call, unless that was done.
{ __om=("$?" "$-" "$SHELLOPTS" MARK1 MARK2) POSIXLY_CORRECT=y; \eval "$__om_finish"; } >/dev/null 2>&1

# LOOK notes that exec sent the output elsewhere, before it is the shell's own again.
[[ ! /dev/fd/60 -ef /dev/fd/60 || /dev/fd/59 -ef /dev/fd/60 && /dev/fd/58 -ef /dev/fd/60 ]] || __om[5]=exec

# FINISH writes the record and the mark, unless that was done, and leaves nothing behind.
\set +exv
if [[ ${__om_last-} != "${__om[3]}" ]]; then
	\eval "$__om_record"
else
	[[ :${__om[2]}: == *:posix:* ]] || \unset POSIXLY_CORRECT
fi
__om_status() {
	\builtin set -- "${__om[0]}"
	\builtin unset __om __om_word
	\builtin unset -f __om_status
	\builtin return "$1"
}
__om_status

# RECORD is what FINISH does once for each call: a text of its own, which END need not parse.
__om_last=${__om[3]}
for __om_word in builtin .; do
	if \export -f "$__om_word"; then
		\unset -f "$__om_word"
		__om[5]+=,$__om_word
	fi
done
[[ :${__om[2]}: == *:posix:* ]] || \unset POSIXLY_CORRECT
if [[ ${__om[5]-} == exec* ]]; then
	for ((__om_word = 0; __om_word < 20; __om_word++)); do # a second at most for what it was sent to
		[[ ${!-} ]] && \builtin kill -0 "$!" || \builtin break
		\builtin command -p sleep 0.05
	done
fi
\builtin unset OPENMANUS_CALL PS0 PS1 PS2 PROMPT_COMMAND TMOUT
{
	\builtin printf '%s%s %s %s -%s\0' "${__om[3]}" "${__om[4]}" "${__om[0]}" "${__om[1]}" "${__om[5]-}"
	\builtin pwd
	\builtin printf '\0'
	\builtin export -p
	\builtin printf '\0'
	\builtin trap -p ERR DEBUG RETURN
	\builtin printf '\0'
} >&61
\builtin trap - ERR DEBUG RETURN
\builtin printf '%s%s' "${__om[3]}" "${__om[4]}" >&60
