/* Preloaded into Janus: it pauses between telling of a call and noting whom to answer, where a busy machine may stop it too. There
 * its SIP plugin asks for the phrase of 180 Ringing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

char const *sip_status_phrase(int status)
{
	char const *(*phrase)(int) = (char const *(*)(int))dlsym(RTLD_NEXT, "sip_status_phrase");
	if (status == 180)
		usleep(100000);
	return phrase(status);
}
