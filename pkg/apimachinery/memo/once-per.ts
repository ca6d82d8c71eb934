/** What is worked out of an object that stays as it is (a dialect, a type, a field): once for each, and kept as long as it. */
export function oncePer<K extends object, T extends {}>(make: (key: K) => T): (key: K) => T {
  const made = new WeakMap<K, T>();
  return (key) => {
    let value = made.get(key);
    if (value === undefined) {
      value = make(key);
      made.set(key, value);
    }
    return value;
  };
}
