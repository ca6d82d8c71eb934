/** What may be at hand: then it comes without a promise, which costs more than the answer where every request asks for it. */
export type NowOrLater<T> = T | Promise<T>;
