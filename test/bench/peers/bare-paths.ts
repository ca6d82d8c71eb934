/** Keys whose changes the bare server passes on to those who watch. */
export const watchedPrefix = '/bare/watched/';
