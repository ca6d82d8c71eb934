import { useEffect, useState } from 'preact/hooks';
import { browserClock } from '#dashboard/client/platform/browser-clock.js';

const tickMs = 5000;

/** The time, every few seconds, for ages. */
export function useNow(): number {
  const [now, setNow] = useState(browserClock.now());
  useEffect(() => {
    const timer = browserClock.setTimer(() => setNow(browserClock.now()), tickMs);
    return () => timer.cancel();
  }, [now]);
  return now;
}
