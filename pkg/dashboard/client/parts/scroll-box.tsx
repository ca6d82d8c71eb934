import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface ScrollBoxProps {
  readonly label: string;
  readonly children: ComponentChildren;
}

/** A wide table scrolls inside of its box, which the keyboard reaches only then. */
export function ScrollBox({ label, children }: ScrollBoxProps) {
  const box = useRef<HTMLDivElement>(null);
  const [isWide, setWide] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWide(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const more = isWide ? ({ tabIndex: 0, role: 'region', 'aria-label': `${label}, table` } as const) : {};
  return (
    <div class="scroll-box" ref={box} {...more}>
      {children}
    </div>
  );
}
