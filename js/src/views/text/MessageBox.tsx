import type { JSX, RefObject, TargetedKeyboardEvent } from "preact";

interface Props {
  text: string;
  rows: number;
  maxLength: number;
  label: string;
  title?: string;
  placeholder?: string;
  area?: RefObject<HTMLTextAreaElement | null>;
  onInput: (text: string) => void;
  /** Take the text: Enter was pressed, without Shift, by the person and not by an input method. */
  onEnter: (event: { altKey: boolean }) => void;
  onEscape?: () => void;
}

/** A box for a text to the model: Enter sends it, Shift+Enter begins a new line, and no key reaches the notebook. */
export function MessageBox(props: Props): JSX.Element {
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    event.stopPropagation();
    if (event.key === "Escape") props.onEscape?.();
    // Safari tells by the code alone that Enter belongs to an input method
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    if (!event.repeat) props.onEnter(event);
  };
  const { area, rows, maxLength, label, title, placeholder, text } = props;
  return (
    <textarea
      ref={area ?? null}
      rows={rows}
      maxLength={maxLength}
      aria-label={label}
      title={title}
      placeholder={placeholder}
      data-lm-suppress-shortcuts="true"
      value={text}
      onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
      onKeyDown={onKeyDown}
    />
  );
}
