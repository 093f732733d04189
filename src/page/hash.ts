/** The part of the address that says what is shown, so that it can be reloaded, bookmarked and sent. */
import { useEffect, useState } from 'preact/hooks';

export function useHash(): string {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const read = () => setHash(location.hash);
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return hash;
}
