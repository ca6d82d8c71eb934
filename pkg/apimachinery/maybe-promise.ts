/** What may be at hand: then it comes without a promise, which costs more than the answer where every request asks for it. */
export type MaybePromise<T> = T | Promise<T>;
