/** Has the process of a cluster read in its settings that it is to be open to more servers. One that is not ready for it ignores it. */
export const openSignal = 'SIGURG';
