/** What may be at hand: then it comes without a promise, which costs more than the answer where every request asks for it. */
export type MaybePromise<T> = T | Promise<T>;

/** What `next` makes of the value: at once where that is at hand. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
