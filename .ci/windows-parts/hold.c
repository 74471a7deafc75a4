/* hold FILE COMMAND...: opens FILE so that nobody else may, runs the command line, ends with its exit code. */
#include <windows.h>
#include <stdio.h>

static wchar_t *after_word(wchar_t *text)
{
    int quoted = 0;
    for (; *text && (quoted || (*text != ' ' && *text != '\t')); text++)
        if (*text == '"')
            quoted = !quoted;
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

int wmain(int count, wchar_t **words)
{
    STARTUPINFOW start = {.cb = sizeof start};
    PROCESS_INFORMATION process;
    DWORD code = 99;
    if (count < 3)
        return 98;
    HANDLE file = CreateFileW(words[1], GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return 97;
    wchar_t *command = after_word(after_word(GetCommandLineW()));
    if (!CreateProcessW(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &start, &process))
        return 96;
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &code);
    CloseHandle(file);
    return (int)code;
}
