# The shell of the bash tool. It runs as `bash -c`, in the sandbox of the
# workspace if there is one, with three pipes and nothing else:
#
#   standard input   lines for the relay, below
#   standard output  what the commands print, on either stream, in order; after
#                    each command its mark (fd 60)
#   standard error   records of the state of the shell (fd 61)
#
# The shell that runs the commands is interactive, because only an interactive
# shell survives an interrupt; but it has no terminal and shows no prompt. Its
# input comes from the relay, a child process, which can therefore act while a
# command runs. Everything here works with bash 3.2.

exec 60>&1 61>&2 63<&0 2>/dev/null
shell=$$

# The first input of the shell. A record is: the name of the call, the exit
# status, the flags of the shell and what is to be said; NUL; the working
# directory; NUL; the exported variables; NUL; the traps that watch commands;
# NUL. SIGURG, which does nothing by default, makes the shell interrupt itself
# and so give up the command that it runs, once the program that it waits for
# has ended. Commands run with OPENMANUS_CALL in their environment.
#
# The shell's own output goes nowhere, and each command's to fd 60 (see
# bash_end.sh): so what a command does to the output with exec ends with it.
IFS= read -r -d '' setup <<'END'
unset HISTFILE MAILCHECK PROMPT_COMMAND TMOUT
set +o history
set +H
PS0= PS1= PS2=
readonly __om_look=LOOK __om_finish=FINISH __om_record=RECORD
trap '{ builtin printf "exit %s - -\0" "$?"; builtin pwd; builtin printf "\0"; builtin export -p; builtin printf "\0\0"; } 2>/dev/null >&61' EXIT
trap 'if [[ ${OPENMANUS_CALL+set} ]]; then builtin trap - INT; builtin kill -INT $$; fi' URG
exec >/dev/null 2>&1
END

# relay carries the lines that begin with '>' (a call) or '+' (something else)
# to the shell. '!TAG' stops the call with that OPENMANUS_CALL. '?' asks whether the
# shell has come back from a call. The end of the input means that the tool is gone:
# the relay kills everything.
relay() {
	local LC_ALL=C line
	trap '' HUP INT QUIT TERM
	relay=${BASHPID:-$(exec sh -c 'echo $PPID')}
	began=0
	printf '%s' "$setup"
	while IFS= read -r line <&63; do
		case $line in
		'>'*) remember; printf '%s\n' "${line#?}" ;;
		'+'*) printf '%s\n' "${line#?}" ;;
		'!'*) kill -URG "$shell"; end "OPENMANUS_CALL=${line#?}" ;;
		'?') unheard ;;
		esac
	done
	keep=
	end "OPENMANUS_RUN=${OPENMANUS_RUN:-none}"
	kill -KILL "$shell"
}

# unheard kills a shell that waits for its next line, at five looks in a row, although the
# call has not ended for the tool: what a command defined keeps the shell from saying so.
# While a command runs the shell's input is another one than that which the relay writes.
unheard() {
	local line=
	IFS= read -r line <"/proc/$shell/stat"
	case ${line##*) } in S*) ;; *) idle=0; return ;; esac
	if ! [ "/proc/$shell/fd/0" -ef /proc/self/fd/1 ]; then
		idle=0
	elif idle=$((idle + 1)); [ "$idle" -ge 5 ]; then
		printf 'unheard 0 - -\0\0\0\0' >&61
		kill -KILL "$shell"
	fi
}

# remember notes the children of the shell and the time. Processes from before a
# call are background jobs and do not belong to the call.
remember() {
	local children=/proc/$shell/task/$shell/children pid rest
	keep= idle=0
	if [ -r "$children" ]; then
		IFS= read -r keep <"$children"
		read -r began rest </proc/uptime
		began=${began/./} # as the kernel counts: in hundredths of a second
		return
	fi
	look
	for pid in "${!parent[@]}"; do
		[ "${parent[pid]}" = "$shell" ] && keep="$keep $pid"
	done
}

# end kills what the shell started, except for the relay and background jobs, and
# every process with that variable in its environment. It looks again until it
# finds no more, or some seconds have passed.
end() {
	local killed= pid left
	SECONDS=0
	while [ "$SECONDS" -lt 4 ]; do
		look
		choose "$1"
		left=
		for pid in $killed; do
			# A process that dies loses its environment before its files.
			[ -n "${parent[pid]}" ] && left=yes
		done
		[ -n "$victims$left" ] || return
		if [ -n "$victims" ]; then
			kill -STOP $victims # so that none reacts to the death of another
			kill -KILL $victims
			killed="$killed $victims"
		fi
	done
}

# choose sets victims.
choose() {
	local pid at file young=
	victims=
	for pid in "${!parent[@]}"; do
		at=$pid
		while [ "$at" -gt 1 ]; do
			case " $keep $relay " in *" $at "*) continue 2 ;; esac
			if [ "${parent[at]:-0}" = "$shell" ]; then
				victims="$victims $pid"
				continue 2
			fi
			at=${parent[at]:-0}
		done
		if [ "$pid" != "$shell" ] && [ "${session[pid]:-0}" = "$shell" ] && [ "${start[pid]}" -ge "$began" ]; then
			young="$young /proc/$pid/environ"
		fi
	done
	# A fork of the shell whose parent has died, and which has not executed its
	# program yet, has no such variable.
	for file in $(grep -lsaF -- "$1" /proc/[0-9]*/environ) ${young:+$(grep -LsaF OPENMANUS_CALL= $young)}; do
		file=${file#/proc/}
		file=${file%/environ}
		case " $keep $relay " in *" $file "*) ;; *) [ -n "${parent[file]}" ] && victims="$victims $file" ;; esac
	done
}

# look sets the parent, session and start time of all living processes.
look() {
	local file line pid ppid state
	parent=() session=() start=()
	if [ ! -r /proc/self/stat ]; then
		while read -r pid ppid state; do
			case $state in Z*) ;; *) parent[pid]=$ppid ;; esac
		done <<<"$(ps -axo pid=,ppid=,state=)"
		return
	fi
	for file in /proc/[0-9]*/stat; do
		IFS= read -r line <"$file" || continue
		case $line in *') '*) ;; *) IFS= read -r -d '' line <"$file" ;; esac # a name with a newline in it
		set -- ${line##*) }
		pid=${file#/proc/}
		pid=${pid%/stat}
		case $1 in Z | X | '') ;; *) parent[pid]=$2 session[pid]=$4 start[pid]=${20} ;; esac
	done
}

exec "$BASH" --noprofile --norc --noediting -i < <(relay) 2>/dev/null 63<&-
