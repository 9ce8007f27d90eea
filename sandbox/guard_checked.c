/* Was the profile tried here before it is trusted? See guard.h and checked.h. */
#include "sandbox/guard.h"

#include <errno.h>

int guard_checked(const struct guard_options *o, const struct filter *f, enum checked *ret, struct err *e)
{
	*ret = CHECKED_PASSED;
	if (!o->checked && !o->named)
		return 0;
	if (f == NULL || o->filter == NULL)
		return o->checked ? err_set(e, EINVAL, "--checked needs a profile: leave --filter none out") : 0;
	*ret = checked_look(f->name, f->content);
	if (!o->checked || *ret == CHECKED_PASSED)
		return 0;
	return err_set(e, EPERM, "profile %s %s with this libc and kernel: run `stint profile check %s`, or leave --checked out",
	               o->filter, *ret == CHECKED_FAILED ? "failed its check" : "was never checked", o->filter);
}
