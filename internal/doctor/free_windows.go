package doctor

import "golang.org/x/sys/windows"

// free returns how many bytes this user can still write below dir.
func free(dir string) (n uint64, err error) {
	p, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(p, &n, nil, nil)
	return n, err
}
