/**
 * What Node.js has to be told on its command line when it runs a daemon: it takes it from nowhere else. `bin/*` say the same.
 *
 * The room for young objects would grow to 48 MB with the first burst of work, and stay. A quarter of that is emptied four
 * times as often, which costs the same in all, since hardly anything of what a request leaves behind is alive then.
 */
export const daemonNodeFlags: readonly string[] = ['--max-semi-space-size=4'];
