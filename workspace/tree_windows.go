package workspace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A tree is a command and the processes of its job object.
type tree struct {
	cmd   *exec.Cmd
	mark  string
	job   windows.Handle
	ended error
}

// start starts the command in a job object whose processes die with its last
// handle.
func (t *tree) start() error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("job object: %w", err)
	}
	t.job = job
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		return errors.Join(fmt.Errorf("job object: %w", err), windows.CloseHandle(job))
	}
	t.cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP,
		HideWindow: true}
	if err := t.cmd.Start(); err != nil {
		return errors.Join(err, windows.CloseHandle(job))
	}
	if err := t.assign(); err != nil {
		return errors.Join(err, t.cmd.Process.Kill(), t.cmd.Wait(), windows.CloseHandle(job))
	}
	return nil
}

// assign puts the command into the job, and so all that it starts from now on.
// A command that has already ended cannot be assigned, and need not be.
func (t *tree) assign() error {
	const stillActive = 259
	var failed error
	err := t.cmd.Process.WithHandle(func(h uintptr) {
		var code uint32
		failed = windows.AssignProcessToJobObject(t.job, windows.Handle(h))
		if failed != nil && windows.GetExitCodeProcess(windows.Handle(h), &code) == nil &&
			code != stillActive {
			failed = nil
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("job object: %w", err)
	}
	return nil
}

func (t *tree) Wait() { t.ended = t.cmd.Wait() }

func (t *tree) Status() error { return exitStatus(t.ended) }

func (t *tree) Stop() { _ = windows.TerminateJobObject(t.job, 137) }

// Terminate implements [Process]. Programs without a window receive no signal
// here.
func (t *tree) Terminate() error { return errors.ErrUnsupported }

// Kill implements [Process]. It ends all processes of the job and closes its
// last handle.
func (t *tree) Kill() error {
	return errors.Join(windows.TerminateJobObject(t.job, 137), windows.CloseHandle(t.job))
}

func signalOf(*os.ProcessState) (int, string) { return 0, "" }

// isBrokenPipe reports whether the reader of a pipe has gone.
func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
